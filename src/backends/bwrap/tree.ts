// Ends everything in a pid namespace by ending its first process: the kernel then kills the rest and lets bwrap, which
// waits for it, go only when all are gone. Killing bwrap itself would end the wait before the tree is dead.
import { kill } from 'node:process'
import { parentOf } from './admit.ts'

/** False: there is no such process, or it is not bwrap's child any more. */
export function killNamespace(firstPid: number, bwrapPid: number | undefined): boolean {
  // The number could have been given to another process since; a child of this bwrap is surely ours.
  if (bwrapPid === undefined || parentOf(firstPid) !== bwrapPid) return false
  try {
    return kill(firstPid, 'SIGKILL')
  } catch {
    return false
  }
}

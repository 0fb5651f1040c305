// Ends everything in a pid namespace by ending its first process: the kernel then kills the rest and lets bwrap, which
// waits for it, go only when all are gone. Killing bwrap itself would end the wait before the tree is dead.
import { readFileSync } from 'node:fs'
import { kill } from 'node:process'

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

function parentOf(pid: number): number | undefined {
  try {
    const parent = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return parent === undefined ? undefined : Number(parent)
  } catch {
    return undefined
  }
}

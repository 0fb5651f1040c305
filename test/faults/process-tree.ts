// All processes of one: what a service manager ends with it, and what a single `kill` does not.
import { readFileSync, readdirSync } from 'node:fs'

/** Pid by pid, those that it started and those that they started. */
export function descendantsOf(pid: number): readonly number[] {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => parentOf(Number(name))),
  )
  const below = (one: number): readonly number[] =>
    [...parents].flatMap(([child, parent]) => (parent === one ? [child, ...below(child)] : []))
  return below(pid)
}

function parentOf(pid: number): readonly (readonly [number, number])[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return [[pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]]
  } catch {
    // It has ended since it was listed.
    return []
  }
}

/** At one moment, as far as anybody outside of them can tell: it learns of no other's end. */
export function killWithAllBelow(pid: number): readonly number[] {
  process.kill(pid, 'SIGSTOP')
  const below = descendantsOf(pid)
  for (const each of [...below, pid]) kill(each)
  return below
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

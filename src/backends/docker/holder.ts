// The process that holds a lasting command's pipes: a shell on the host, which leads a group of its own with docker in it.
import { readdirSync, readFileSync } from 'node:fs'
import { kill } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { isErrno } from '../../paths/refusal.ts'
import { identityOf, type ProcessIdentity } from '../../process/identity.ts'

/** Its number may be another's by now, or mean another where it was begun. */
export function isStill(holder: ProcessIdentity): boolean {
  try {
    return isDeepStrictEqual(identityOf(holder.pid), holder)
  } catch {
    return false
  }
}

/** All of its group. False where nothing is left of it. */
export function signalHolder(holder: ProcessIdentity, signal: NodeJS.Signals): boolean {
  try {
    return isStill(holder) && kill(-holder.pid, signal)
  } catch {
    return false
  }
}

/** Settles when nothing of its group can touch a file any more, or when that takes too long. */
export async function endHolder(holder: ProcessIdentity): Promise<void> {
  if (!signalHolder(holder, 'SIGKILL')) return
  for (const until = performance.now() + mostToEndMs; performance.now() < until; await delay(5))
    if (areEnded(holder.pid)) return
}

function areEnded(group: number): boolean {
  try {
    return statesIn(group).every((state) => /^[ZX]$/.test(state))
  } catch {
    return false
  }
}

const mostToEndMs = 5000

/** Of each process of the group, as the kernel writes them. */
export const statesIn = (group: number): readonly string[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      if (!/^\d+$/.test(name)) return []
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const [state = '', , of] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(of) === group ? [state] : []
    } catch (error) {
      // It has ended since it was listed.
      if (isErrno(error, 'ENOENT', 'ESRCH')) return []
      throw error
    }
  })

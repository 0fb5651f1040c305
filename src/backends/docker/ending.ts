// Ends containers for certain. Whoever must end one goes on trying until the daemon has said that it is gone, however long the daemon
// gives no answer; what runs on this host is ended meanwhile without it. Knows containers by name and id, and nothing of commands.
import { setTimeout as delay } from 'node:timers/promises'
import type { Containers } from './containers.ts'
import { openControlGroups, type ControlGroups } from './control-groups.ts'

export interface Doomed {
  readonly name: string
  /** As docker wrote it down; undefined where it has not yet. */
  readonly id: () => string | undefined
  /** Docker is still at work on it: one that is just being made is not there yet, and would be in a moment. */
  readonly isInMaking: () => boolean
}

export interface Ending {
  /**
   * True: it is certainly gone. False: the daemon gave no such word, and what ran on this host was ended without it, as far as it is ours to
   * end: with gVisor that is for root alone.
   */
  readonly tried: Promise<boolean>
  /** The same when the daemon has said so, however late. False where nobody goes on trying. */
  readonly gone: Promise<boolean>
}

export interface Endings {
  /** Asked twice of the same one, it is one ending. */
  begin(doomed: Doomed): Ending
  /** Nobody is left who could go on trying. What is not gone by now is swept by the next. */
  close(): void
}

const shortestPauseMs = 100
const longestPauseMs = 2000

export function openEndings(
  { tryToRemove }: Pick<Containers, 'tryToRemove'>,
  groups: ControlGroups = openControlGroups(),
): Endings {
  const begun = new Map<string, Ending>()
  const closing = new AbortController()
  const isClosed = (): boolean => closing.signal.aborted

  const endOnce = async ({ name, id, isInMaking }: Doomed): Promise<boolean> => {
    const known = id()
    // Asked before: what is made behind the daemon's answer is still there.
    const mayCome = isInMaking()
    if (await tryToRemove(name)) return !mayCome
    const made = id() ?? known
    if (made !== undefined) await groups.end(made)
    return false
  }
  /** Where something of ours fails, as it does without descriptors, it is not gone either. */
  const tryOnce = (doomed: Doomed): Promise<boolean> => endOnce(doomed).catch(() => false)
  const goOn = async (doomed: Doomed): Promise<boolean> => {
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
      await delay(pauseMs, undefined, { ref: false, signal: closing.signal })
      if (await tryOnce(doomed)) return true
    }
  }
  return {
    begin(doomed) {
      const before = begun.get(doomed.name)
      if (before !== undefined) return before
      const tried = isClosed() ? Promise.resolve(false) : tryOnce(doomed)
      const gone = tried
        .then((isGone) => isGone || goOn(doomed))
        // Only where it was closed: the next one sweeps.
        .catch(() => false)
        .finally(() => begun.delete(doomed.name))
      const ending = { tried, gone }
      begun.set(doomed.name, ending)
      return ending
    },
    close: () => closing.abort(),
  }
}

// The moment of a fork on the filesystem's own clock. Kernels stamp a change with the time of their last tick, up to ten
// milliseconds ago, and some filesystems keep whole seconds alone; so what is changed right after the moment may look older than it. A
// margin in the comparison would take the last work of a run that is forked at its end for a change behind the fork's back. So a fork
// is not there before the clock that stamps changes is past its moment: whoever knows of the fork can only make changes that look younger.
import { chmodSync, lstatSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { GloveboxError } from '../../errors/error.ts'

/** A time of change has parts of a millisecond, what is on record has none. */
export const roundingMs = 1

/** Longer than the coarsest of filesystems that take an overlay. */
const mostMs = 3000

/** `scratch` is a directory of ours on the filesystem of the layers. */
export async function untilPast(sinceMs: number, scratch: string): Promise<void> {
  const begun = performance.now()
  for (let stamped = stampedNow(scratch); stamped <= sinceMs + roundingMs; stamped = stampedNow(scratch)) {
    // It goes no faster than ours.
    if (performance.now() - begun > mostMs || sinceMs - stamped > mostMs) throw behind()
    await delay(1)
  }
}

/** No later change on this filesystem has an earlier time: stamps of one clock do not go back, fine ones neither. */
function stampedNow(scratch: string): number {
  chmodSync(scratch, 0o700)
  return lstatSync(scratch).ctimeMs
}

const behind = (): GloveboxError =>
  new GloveboxError('TIMED_OUT', 'Cannot fork the run by overlay: the clock of its filesystem is behind', {
    hint: 'Later changes of the run could not be told from earlier ones. Fork it with --copy.',
  })

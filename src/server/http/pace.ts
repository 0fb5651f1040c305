// Work over what a caller sent may take long, and nobody else has a turn meanwhile. Whoever does it in steps asks between two of them
// whether it is time to let the others go first.
import { setImmediate as othersFirst } from 'node:timers/promises'

const atOnceMs = 10

export interface Pace {
  /** Undefined, at once, where little time has passed. */
  rest(): Promise<void> | undefined
}

export function createPace(): Pace {
  let begun = performance.now()
  return {
    rest: () =>
      performance.now() - begun < atOnceMs ? undefined : othersFirst().then(() => void (begun = performance.now())),
  }
}

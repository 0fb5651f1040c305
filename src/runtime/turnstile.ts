// Those who use a sandbox go through as they come; whoever changes it goes through alone. A change waits for nobody: while the
// sandbox is in use it is refused, since a command may run for as long as it likes. Users wait for a change, which is short.
import { GloveboxError } from '../errors/error.ts'

export interface Turnstile {
  use<T>(work: () => Promise<T>): Promise<T>
  change<T>(work: () => Promise<T>): Promise<T>
  /** Settles when no change is under way. */
  settled(): Promise<void>
}

export function openTurnstile(): Turnstile {
  let inside = 0
  let changing: Promise<void> | undefined
  const use = async <T>(work: () => Promise<T>): Promise<T> => {
    while (changing !== undefined) await changing
    inside += 1
    try {
      return await work()
    } finally {
      inside -= 1
    }
  }
  return {
    use,
    async change(work) {
      while (changing !== undefined) await changing
      if (inside > 0)
        throw new GloveboxError('BUSY', 'Cannot provision: a command or an action is under way', {
          hint: 'Wait for its end, and try again.',
        })
      const done = work()
      const over = (): void => void (changing = undefined)
      changing = done.then(over, over)
      return done
    },
    async settled() {
      while (changing !== undefined) await changing
    },
  }
}

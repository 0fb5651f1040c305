// Where requests come in. When the server stops the door is shut, and what remains in the queue is looked at only when everybody who
// was let in before is through: an exec that came behind that look would wait for a server that is gone.
import { GloveboxError } from '../errors/error.ts'

export interface Door {
  /** Throws DRAINING once it is shut. */
  pass<Value>(work: () => Promise<Value>): Promise<Value>
  shut(): void
  /** Shut; settles when nobody is inside any more. */
  emptied(): Promise<void>
}

export function openDoor(): Door {
  const inside = new Set<Promise<unknown>>()
  let isShut = false
  const shut = (): void => void (isShut = true)
  return {
    async pass(work) {
      if (isShut)
        throw new GloveboxError('DRAINING', 'Cannot take the exec: the server is about to stop', {
          hint: 'Ask another server, or the next one at this address.',
          facts: { retryAfterSeconds: 1 },
        })
      const mine = work()
      inside.add(mine)
      try {
        return await mine
      } finally {
        inside.delete(mine)
      }
    },
    shut,
    async emptied() {
      shut()
      await Promise.allSettled(inside)
    },
  }
}

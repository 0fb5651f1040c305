// A database that is away for a moment is waited for, where what is known must not be lost and nothing can happen twice.
import { setTimeout as delay } from 'node:timers/promises'
import { isGloveboxError } from '../errors/error.ts'

const pauseMs = 200
const longestMs = 60_000

export async function patiently<Value>(ask: () => Promise<Value>, hurried?: AbortSignal): Promise<Value> {
  const begun = performance.now()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const isAway = isGloveboxError(error) && error.code === 'STORE_UNAVAILABLE'
      if (!isAway || hurried?.aborted === true || performance.now() - begun > longestMs) throw error
      await pause(pauseMs, hurried)
    }
  }
}

/** Shorter where nobody waits any longer. */
export const pause = (ms: number, hurried?: AbortSignal): Promise<void> =>
  delay(ms, undefined, hurried === undefined ? {} : { signal: hurried }).catch(() => {})

// One deadline and one cancellation, whichever comes first; the first is remembered and acts once.

export interface Deadline {
  fired(): 'timeout' | 'cancel' | undefined
  clear(): void
}

// setTimeout keeps 31 bits; a longer wait would fire at once.
const longestTimerMs = 2 ** 31 - 1

export function readDeadline(timeoutMs: number, signal: AbortSignal | undefined, act: () => void): Deadline {
  let fired: 'timeout' | 'cancel' | undefined
  const fire = (why: 'timeout' | 'cancel'): void => {
    if (fired !== undefined) return
    fired = why
    act()
  }
  const onAbort = (): void => fire('cancel')
  const timer = setTimeout(() => fire('timeout'), Math.min(timeoutMs, longestTimerMs))
  if (signal?.aborted === true) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })
  return {
    fired: () => fired,
    clear() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    },
  }
}

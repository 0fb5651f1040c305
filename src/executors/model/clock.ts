// The time that the work may take. It stands still while a person is waited for: an answer on the next morning must not
// find the run out of time.

export interface Clock {
  /** Aborts when the caller's does, and when the time is over. */
  readonly signal: AbortSignal
  readonly isOver: () => boolean
  /** What is left of it, and whether it stands still. */
  readonly left: () => { readonly ms: number; readonly stands: boolean }
  /** Runs `waiting` while the clock stands still. */
  pauseFor<Result>(waiting: () => Promise<Result>): Promise<Result>
  stop(): void
}

export function startClock(timeoutMs: number, caller: AbortSignal): Clock {
  const ending = new AbortController()
  let leftMs = timeoutMs
  let over = false
  let startedAt = performance.now()
  let stands = false
  let timer: NodeJS.Timeout | undefined
  const go = (): void => {
    stands = false
    startedAt = performance.now()
    timer = setTimeout(() => {
      over = !ending.signal.aborted
      ending.abort()
    }, leftMs)
  }
  const pause = (): void => {
    clearTimeout(timer)
    leftMs = leftNow()
    stands = true
  }
  const leftNow = (): number => (stands ? leftMs : Math.max(0, leftMs - (performance.now() - startedAt)))
  const forward = (): void => ending.abort()
  if (caller.aborted) ending.abort()
  else caller.addEventListener('abort', forward, { once: true })
  go()
  return {
    signal: ending.signal,
    isOver: () => over,
    left: () => ({ ms: leftNow(), stands }),
    async pauseFor(waiting) {
      pause()
      try {
        return await waiting()
      } finally {
        go()
      }
    },
    stop() {
      clearTimeout(timer)
      caller.removeEventListener('abort', forward)
    },
  }
}

// The clock that leases are counted with. It goes on while the machine sleeps, which CLOCK_MONOTONIC and so `performance.now()` does not:
// a laptop that was shut for an hour must find its leases over. Node reads CLOCK_BOOTTIME nowhere but in `os.uptime()`.
import { uptime } from 'node:os'
import type { Clock } from '../../pool/ports.ts'

export const bootClock: Clock = {
  nowMs: () => uptime() * 1000,
  sleep: (ms, signal) => wait(ms, signal).done,
  rest(ms, signal) {
    const { timer, done } = wait(ms, signal)
    timer.unref()
    return done
  },
}

function wait(ms: number, signal?: AbortSignal): { readonly timer: NodeJS.Timeout; readonly done: Promise<void> } {
  let wake = (): void => {}
  const timer = setTimeout(() => wake(), signal?.aborted === true ? 0 : Math.min(Math.max(0, ms), longestTimerMs))
  const done = new Promise<void>((resolve) => {
    wake = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    signal?.addEventListener('abort', wake, { once: true })
  })
  return { timer, done }
}

/** What is longer comes at once: timers count in 31 bits. */
const longestTimerMs = 2 ** 31 - 1

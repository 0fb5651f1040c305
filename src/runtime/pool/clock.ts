// The clock that leases are counted with. It goes on while the machine sleeps, which CLOCK_MONOTONIC and so `performance.now()` does not:
// a laptop that was shut for an hour must find its leases over. Node reads CLOCK_BOOTTIME nowhere but in `os.uptime()`, which opens a
// file; a command asks for the time some thirty times. So the distance between the two clocks is remembered. It grows only by a sleep,
// and no sleep passes unseen: the wall clock goes on through it, too.
import { uptime } from 'node:os'
import type { Clock } from '../../pool/ports.ts'

export interface ClockSources {
  /** Goes on in sleep. */
  readonly bootMs: () => number
  /** Stands still in sleep. */
  readonly awakeMs: () => number
  /** Goes on in sleep, and may be set by anybody. */
  readonly wallMs: () => number
}

/** A wall clock that was set is asked about as a sleep would be; below this it is only being slowed or hurried. */
const noticedMs = 20
/** Asked again after so long in any case. */
const believedMs = 1000

const host: ClockSources = {
  bootMs: () => uptime() * 1000,
  awakeMs: () => performance.now(),
  wallMs: () => Date.now(),
}

/** Milliseconds since boot, which only grow. */
export function bootTime({ bootMs, awakeMs, wallMs }: ClockSources = host): () => number {
  let asleepMs = Number.NEGATIVE_INFINITY
  let askedAtMs = Number.NEGATIVE_INFINITY
  let wallAheadMs = 0
  return () => {
    const nowMs = awakeMs()
    const aheadMs = wallMs() - nowMs
    if (nowMs - askedAtMs > believedMs || Math.abs(aheadMs - wallAheadMs) > noticedMs) {
      // The kernel tells hundredths of a second, cut off: of several answers the greatest is the nearest.
      asleepMs = Math.max(asleepMs, bootMs() - nowMs)
      askedAtMs = nowMs
      wallAheadMs = aheadMs
    }
    return nowMs + asleepMs
  }
}

export const openBootClock = (): Clock => ({
  nowMs: bootTime(),
  sleep: (ms, signal) => wait(ms, signal).done,
  rest(ms, signal) {
    const { timer, done } = wait(ms, signal)
    timer.unref()
    return done
  },
})

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

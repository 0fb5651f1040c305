// What a pool does by itself, each thing at its own pace.
import { renewAfter, type PoolLimits } from './limits.ts'
import type { Holdings } from './holdings.ts'
import type { Clock } from './ports.ts'

export interface LoopsOptions {
  readonly clock: Clock
  readonly ttlMs: number
  readonly limits: PoolLimits
  readonly holdings: Holdings
  readonly reap: () => Promise<void>
  readonly reconcile: () => Promise<void>
}

export interface Loops {
  /** Resolves when no pass is under way any more. */
  stop(): Promise<void>
}

export function startLoops({ clock, ttlMs, limits, holdings, reap, reconcile }: LoopsOptions): Loops {
  const stopping = new AbortController()
  const every = async (ms: () => number, pass: () => Promise<void>): Promise<void> => {
    for (;;) {
      await clock.rest(ms(), stopping.signal)
      if (stopping.signal.aborted) return
      // A pass that failed is made again: what it needs (the database, the backend) may be back by then.
      await pass().catch(() => {})
    }
  }
  const renewMs = renewAfter(ttlMs)
  const untilNextEnd = (): number => Math.max(1, (holdings.nextEndMs() ?? Infinity) - clock.nowMs())
  const running = [
    every(
      () => renewMs,
      () => holdings.renewAll(),
    ),
    // Apart from renewing, which may hang with the database: what is under way must end in time all the same.
    every(
      () => Math.min(renewMs, untilNextEnd()),
      async () => holdings.expireAll(),
    ),
    every(() => limits.reapEveryMs, reap),
    every(() => limits.reconcileEveryMs, reconcile),
  ]
  return {
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

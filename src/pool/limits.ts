// The pool's numbers, and how they hang together.
import { GloveboxError } from '../errors/error.ts'

export interface PoolLimits {
  /** Members of this process that may run at the same time, active and warm. */
  readonly replicas: number
  /** So long without use, and a member is ended. 0: never. */
  readonly idleMs: number
  /** How long an acquire waits for a place, or for another process that has the member. */
  readonly waitMs: number
  /** How long a running member must be seen without an owner before it is taken for an orphan. */
  readonly graceMs: number
  readonly reapEveryMs: number
  readonly reconcileEveryMs: number
}

export const defaultPoolLimits: PoolLimits = {
  replicas: 3,
  idleMs: 600_000,
  waitMs: 10_000,
  graceMs: 60_000,
  reapEveryMs: 15_000,
  reconcileEveryMs: 30_000,
}

/** Often enough that nobody waits much longer than he was told for what is idle to be ended. */
export const reapPace = (idleMs: number): number =>
  idleMs === 0 ? defaultPoolLimits.reapEveryMs : Math.min(defaultPoolLimits.reapEveryMs, Math.ceil(idleMs / 4))

/** A lease is renewed after a third of its time, and not used in its last third: that is the time to end what runs. */
export const renewAfter = (ttlMs: number): number => ttlMs / 3
export const usableFor = (ttlMs: number): number => (ttlMs * 2) / 3

export function checkLimits(limits: PoolLimits): PoolLimits {
  const atLeast: Readonly<Record<keyof PoolLimits, number>> = {
    replicas: 1,
    idleMs: 0,
    waitMs: 0,
    graceMs: 0,
    reapEveryMs: 1,
    reconcileEveryMs: 1,
  }
  for (const name of Object.keys(atLeast) as (keyof PoolLimits)[])
    if (!Number.isSafeInteger(limits[name]) || limits[name] < atLeast[name])
      throw new GloveboxError('INVALID_SETTINGS', `Cannot open the pool: ${name} is not a number it could keep to`, {
        hint: `Give a whole number of at least ${atLeast[name]}.`,
        facts: { field: name, asked: limits[name] },
      })
  return limits
}

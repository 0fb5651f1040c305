// What a pool has at this moment, as values.
import type { SandboxId } from '../contract/ids.ts'
import type { LeaseState } from '../contract/lease.ts'
import type { SandboxKey } from '../contract/provider.ts'
import type { Counts } from './counts.ts'
import type { Room, Seat } from './seats.ts'

/** A member that this process has. */
export interface PoolMember<Handle> {
  readonly id: SandboxId
  readonly key: SandboxKey | null
  readonly handle: Handle
  readonly state: LeaseState
  readonly token: number
  /** Uses under way. */
  readonly works: number
  readonly idleMs: number
}

export interface PoolStats extends Counts {
  readonly active: number
  readonly warm: number
  /** Places taken: members, and those in making. */
  readonly used: number
  readonly replicas: number
  /** Acquires that wait for a place. */
  readonly waiting: number
}

const stateOf = <Handle>({ tenure, leaving }: Seat<Handle>): LeaseState =>
  leaving !== undefined || tenure.phase === 'leaving' ? 'destroying' : tenure.phase === 'parked' ? 'warm' : 'active'

export const membersOf = <Handle, Request>({ seats, clock }: Room<Handle, Request>): readonly PoolMember<Handle>[] =>
  [...seats.values()].map((seat) => ({
    id: seat.id,
    key: seat.key,
    handle: seat.handle,
    state: stateOf(seat),
    token: seat.tenure.token,
    works: seat.tenure.works,
    idleMs: seat.tenure.works > 0 ? 0 : clock.nowMs() - seat.tenure.usedAtMs,
  }))

export function statsOf<Handle, Request>({ seats, places, limits, counts }: Room<Handle, Request>): PoolStats {
  const states = [...seats.values()].map(stateOf)
  return {
    ...counts,
    acquired: { ...counts.acquired },
    ended: { ...counts.ended },
    active: states.filter((state) => state === 'active').length,
    warm: states.filter((state) => state === 'warm').length,
    used: places.used,
    replicas: limits.replicas,
    waiting: places.waiting,
  }
}

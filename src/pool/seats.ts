// What the pool has in memory, and how it is let go of. All of this is done in the turn of the member's id.
import type { SandboxId } from '../contract/ids.ts'
import type { SandboxKey } from '../contract/provider.ts'
import type { Counts } from './counts.ts'
import type { Holdings } from './holdings.ts'
import type { PoolLimits } from './limits.ts'
import type { Places } from './places.ts'
import type { Clock, Ending, Members } from './ports.ts'
import { isLeaseLost } from './refusals.ts'
import type { HeldTenure } from './tenure.ts'
import type { Turns } from './turns.ts'

export interface Seat<Handle> {
  readonly id: SandboxId
  readonly key: SandboxKey | null
  readonly handle: Handle
  readonly tenure: HeldTenure
  /** It was released while something was under way, and is parked when that has ended. */
  isParkWished: boolean
  /** Others were not told yet that it is parked. */
  isParkOwed: boolean
  /** Its end has begun, and did not succeed yet. */
  leaving: Ending | undefined
}

export interface Room<Handle, Request> {
  readonly clock: Clock
  readonly members: Members<Handle, Request>
  readonly holdings: Holdings
  readonly limits: PoolLimits
  readonly places: Places
  readonly turns: Turns
  readonly counts: Counts
  readonly seats: Map<SandboxId, Seat<Handle>>
}

/** It is somebody else's now: everything of ours is let go of, and nothing of theirs touched. */
export async function forget<Handle, Request>(room: Room<Handle, Request>, seat: Seat<Handle>): Promise<void> {
  seat.tenure.enter('over')
  room.seats.delete(seat.id)
  await room.members.detach(seat.handle).catch(() => {})
  room.places.free()
}

/** False: it was somebody else's already. When it rejects, the seat stays, and its end is tried again by the reaper. */
export async function endSeat<Handle, Request>(
  room: Room<Handle, Request>,
  seat: Seat<Handle>,
  why: Ending,
): Promise<boolean> {
  if (room.seats.get(seat.id) !== seat) return false
  seat.leaving = why
  if (!(await room.holdings.condemn(seat.tenure))) return await lose(room, seat)
  try {
    await room.members.destroy(seat.id, { token: seat.tenure.token, why })
  } catch (error) {
    if (isLeaseLost(error)) return await lose(room, seat)
    throw error
  }
  room.counts.ended[why] += 1
  // The handle first: once the lease is dropped, another process may begin under this id.
  await forget(room, seat)
  await room.holdings.drop(seat.tenure)
  return true
}

export async function park<Handle, Request>(room: Room<Handle, Request>, seat: Seat<Handle>): Promise<void> {
  seat.isParkWished = false
  seat.isParkOwed = true
  try {
    if (await room.holdings.park(seat.tenure)) seat.isParkOwed = false
    else await lose(room, seat)
  } catch {
    // It is parked all the same; the reaper tells the others when they can be reached.
  }
}

/** A question about its lease showed that somebody else has it. */
export async function lose<Handle, Request>(room: Room<Handle, Request>, seat: Seat<Handle>): Promise<false> {
  room.counts.lost += 1
  await forget(room, seat)
  return false
}

/** Nobody uses it and nobody is about to. */
export const isAtRest = <Handle, Request>({ turns }: Room<Handle, Request>, { id, tenure }: Seat<Handle>): boolean =>
  tenure.works === 0 && !turns.isBusy(id)

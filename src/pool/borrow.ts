// Borrowing, in this order: in process, warm, discovered, created. What is borrowed is tested first; one that died is replaced, and
// the caller sees the time it takes and no error. Done in the turn of the member's id.
import type { FormerLease } from '../contract/lease.ts'
import type { Source } from './counts.ts'
import type { Taken } from './holdings.ts'
import { isSameKey } from './ids.ts'
import { openUnder, type Borrowed, type Tried, type Wish } from './open-under.ts'
import { cancelled, collision, isLeaseLost, usedElsewhere } from './refusals.ts'
import { endSeat, lose, park, type Room, type Seat } from './seats.ts'

const firstPauseMs = 10
const longestPauseMs = 500

export async function borrow<Handle, Request>(
  room: Room<Handle, Request>,
  wish: Wish<Request>,
): Promise<Borrowed<Handle>> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    if (wish.signal?.aborted) throw cancelled()
    const seat = room.seats.get(wish.id)
    const borrowed = await tryOnce(room, wish)
    if (borrowed !== undefined) {
      room.counts.acquired[borrowed.source] += 1
      return borrowed
    }
    // What was here was not ours any more, and is let go of: nobody has been asked for it yet.
    if (seat !== undefined && !room.seats.has(wish.id)) continue
    const leftMs = wish.untilMs - room.clock.nowMs()
    if (leftMs <= 0) throw usedElsewhere()
    await room.clock.sleep(Math.min(pauseMs, leftMs), wish.signal)
  }
}

async function tryOnce<Handle, Request>(room: Room<Handle, Request>, wish: Wish<Request>): Promise<Tried<Handle>> {
  const seat = room.seats.get(wish.id)
  if (seat === undefined) return await openAnew(room, wish)
  if (wish.key !== undefined && !isSameKey(seat.key, wish.key)) throw collision()
  // Its boundary may be closed for it, and would be taken for dead: whoever comes waits, also where its end has come.
  if (seat.leaving === undefined && seat.tenure.isAlone) return undefined
  if (seat.leaving !== undefined || room.members.isOver(seat.handle)) {
    await endSeat(room, seat, seat.leaving ?? 'expired')
    return await openAnew(room, wish)
  }
  return seat.tenure.phase === 'parked' ? await takeBack(room, seat, wish) : await useOn(room, seat, wish)
}

/** It is in use here already: many may share it within a process. */
async function useOn<Handle, Request>(
  room: Room<Handle, Request>,
  seat: Seat<Handle>,
  wish: Wish<Request>,
): Promise<Tried<Handle>> {
  if (!seat.tenure.isUsable() && !(await room.holdings.renew(seat.tenure))) {
    await lose(room, seat)
    return undefined
  }
  return await tested(room, seat, wish, 'process')
}

async function takeBack<Handle, Request>(
  room: Room<Handle, Request>,
  seat: Seat<Handle>,
  wish: Wish<Request>,
): Promise<Tried<Handle>> {
  const before = seat.tenure.token
  const taken = await room.holdings.retake(seat.tenure)
  if (!taken.granted) {
    await lose(room, seat)
    return undefined
  }
  const hadNobodyBetween = taken.former.was === 'own' && taken.former.token === before
  if (hadNobodyBetween)
    return await tested(room, seat, wish, 'warm').catch((error: unknown) => parkedAgain(room, seat, error))
  // Somebody else has had it: what our handle leads to may be gone, or another.
  return await reopen(room, seat, wish, taken.former)
}

/** Nobody has got it, so it must not count as in use. */
async function parkedAgain<Handle, Request>(
  room: Room<Handle, Request>,
  seat: Seat<Handle>,
  error: unknown,
): Promise<never> {
  if (room.seats.get(seat.id) === seat && seat.tenure.phase === 'held') await park(room, seat)
  throw error
}

async function tested<Handle, Request>(
  room: Room<Handle, Request>,
  seat: Seat<Handle>,
  wish: Wish<Request>,
  source: Source,
): Promise<Tried<Handle>> {
  // What nobody can tell is not dead: the command will show.
  if ((await room.members.probe(seat.handle)) === 'dead') {
    if (!(await takeAwayDead(room, seat))) return undefined
    return await reopen(room, seat, wish, { was: 'own', token: seat.tenure.token, state: 'active' })
  }
  if (!seat.tenure.isUsable() && !(await room.holdings.renew(seat.tenure))) {
    await lose(room, seat)
    return undefined
  }
  seat.isParkWished = false
  seat.isParkOwed = false
  seat.tenure.touch()
  return { id: seat.id, handle: seat.handle, source }
}

/** False: it was opened by somebody else since, and is theirs. */
async function takeAwayDead<Handle, Request>(room: Room<Handle, Request>, seat: Seat<Handle>): Promise<boolean> {
  try {
    await room.members.destroy(seat.id, { token: seat.tenure.token, why: 'dead' })
  } catch (error) {
    if (isLeaseLost(error)) return await lose(room, seat)
    throw error
  }
  room.counts.replaced += 1
  room.counts.ended.dead += 1
  return true
}

/** The same place and lease, another handle. */
async function reopen<Handle, Request>(
  room: Room<Handle, Request>,
  seat: Seat<Handle>,
  wish: Wish<Request>,
  former: FormerLease,
): Promise<Tried<Handle>> {
  room.seats.delete(seat.id)
  await room.members.detach(seat.handle).catch(() => {})
  return await openUnder(room, wish, { tenure: seat.tenure, former })
}

/** Before anything is taken: with the lease, whoever has parked it would lose it to somebody who may not have it. */
async function refuseOtherKey<Handle, Request>(
  { members }: Room<Handle, Request>,
  { id, key }: Wish<Request>,
): Promise<void> {
  // An id that was made at random is nobody else's.
  if (key === undefined || key === null) return
  const found = await members.find(id)
  if (found !== undefined && !isSameKey(found.key, key)) throw collision()
}

async function openAnew<Handle, Request>(room: Room<Handle, Request>, wish: Wish<Request>): Promise<Tried<Handle>> {
  await refuseOtherKey(room, wish)
  await room.places.take(wish)
  const taken = await leaseFor(room, wish).catch((error: unknown) => {
    room.places.free()
    throw error
  })
  if (taken.granted) return await openUnder(room, wish, taken)
  room.places.free()
  return undefined
}

const leaseFor = async <Handle, Request>(
  { holdings }: Room<Handle, Request>,
  { id, tenure }: Wish<Request>,
): Promise<Taken & { readonly isUnheardOf?: boolean }> =>
  tenure?.isUsable() === true
    ? { granted: true, tenure, former: { was: 'none' }, isUnheardOf: true }
    : await holdings.take(id)

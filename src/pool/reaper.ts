// The reaper's pass over what this process has: it ends what was not used for long, what has come to its absolute end, and what could
// not be ended before. It takes nothing that is in use or being acquired, and looking at a member is no use of it.
import { fewAtOnce } from './few-at-once.ts'
import type { Ending } from './ports.ts'
import { endSeat, isAtRest, park, type Room, type Seat } from './seats.ts'

export async function reap<Handle, Request>(room: Room<Handle, Request>): Promise<void> {
  await fewAtOnce(room.seats.values(), (seat) => reapOne(room, seat))
}

async function reapOne<Handle, Request>(room: Room<Handle, Request>, seat: Seat<Handle>): Promise<void> {
  if (room.turns.isBusy(seat.id)) return
  const why = reasonToEnd(room, seat)
  if (why === undefined && !seat.isParkOwed) return
  await room.turns
    .take<unknown>(seat.id, () => (why === undefined ? park(room, seat) : endSeat(room, seat, why)))
    // What cannot be ended now stays, with its lease, for the next pass.
    .catch(() => {})
}

function reasonToEnd<Handle, Request>(room: Room<Handle, Request>, seat: Seat<Handle>): Ending | undefined {
  if (seat.leaving !== undefined) return seat.leaving
  if (room.members.isOver(seat.handle)) return seat.tenure.isAlone ? undefined : 'expired'
  const { idleMs } = room.limits
  const isIdle = idleMs > 0 && isAtRest(room, seat) && room.clock.nowMs() - seat.tenure.usedAtMs >= idleMs
  return isIdle ? 'idle' : undefined
}

/** The parked member that was not used for longest, on its way out. */
export function evictOne<Handle, Request>(room: Room<Handle, Request>): Promise<unknown> | undefined {
  const [oldest] = [...room.seats.values()]
    .filter((seat) => seat.tenure.phase === 'parked' && isAtRest(room, seat))
    .toSorted((one, other) => one.tenure.usedAtMs - other.tenure.usedAtMs)
  return oldest === undefined ? undefined : room.turns.take(oldest.id, () => endSeat(room, oldest, 'evicted'))
}

// Destroying on somebody's wish, with the files. One that this process does not have is taken first: so an owner that uses it keeps it.
import type { SandboxId } from '../contract/ids.ts'
import { cancelled, isLeaseLost, usedElsewhere } from './refusals.ts'
import { endSeat, type Room } from './seats.ts'

const pauseMs = 50

export interface DestroyWish {
  readonly id: SandboxId
  readonly untilMs: number
  readonly signal: AbortSignal | undefined
}

export async function destroyAsked<Handle, Request>(
  room: Room<Handle, Request>,
  { id, untilMs, signal }: DestroyWish,
): Promise<void> {
  for (;;) {
    const seat = room.seats.get(id)
    const isDone = seat === undefined ? await destroyUnseated(room, id) : await endSeat(room, seat, 'asked')
    if (isDone) return
    // A seat that was lost is not the end of it: the member is another process's now.
    if (room.clock.nowMs() >= untilMs) throw usedElsewhere()
    if (signal?.aborted === true) throw cancelled()
    await room.clock.sleep(pauseMs, signal)
  }
}

async function destroyUnseated<Handle, Request>(room: Room<Handle, Request>, id: SandboxId): Promise<boolean> {
  const taken = await room.holdings.take(id)
  if (!taken.granted) return false
  const { tenure } = taken
  try {
    if (!(await room.holdings.condemn(tenure))) return false
    await room.members.destroy(id, { token: tenure.token, why: 'asked' })
    return true
  } catch (error) {
    if (isLeaseLost(error)) return false
    throw error
  } finally {
    await room.holdings.drop(tenure)
  }
}

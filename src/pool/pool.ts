// The pool: sandboxes by key, kept running between uses, over any backend. It promises that a key has one member, that at most one
// process uses it at a time, that nothing in use is taken away, and that nothing that runs is forgotten. What a member is, where
// leases are kept and what time it is, it is handed (ports.ts): it must not know a backend, a file, a database or a clock.
import type { SandboxId } from '../contract/ids.ts'
import type { Leases } from '../contract/lease.ts'
import type { SandboxKey } from '../contract/provider.ts'
import { borrow } from './borrow.ts'
import { newCounts } from './counts.ts'
import { destroyAsked } from './destroy.ts'
import { fewAtOnce } from './few-at-once.ts'
import { openHoldings } from './holdings.ts'
import { idOfKey, idWithoutKey, rememberIds } from './ids.ts'
import { checkLimits, type PoolLimits } from './limits.ts'
import { openLeasesAhead } from './leases-ahead.ts'
import { startLoops } from './loops.ts'
import type { Borrowed } from './open-under.ts'
import { openPlaces } from './places.ts'
import type { Clock, Members } from './ports.ts'
import { evictOne, reap } from './reaper.ts'
import { createReconciler } from './reconcile.ts'
import { draining } from './refusals.ts'
import { endSeat, forget, lose, park, type Room } from './seats.ts'
import { membersOf, statsOf, type PoolMember, type PoolStats } from './snapshot.ts'
import type { HeldTenure } from './tenure.ts'
import { openTurns } from './turns.ts'

export type { Borrowed } from './open-under.ts'

export interface PoolOptions<Handle, Request> {
  readonly clock: Clock
  readonly leases: Leases
  readonly members: Members<Handle, Request>
  readonly limits: PoolLimits
  /** Tests force a collision with it. */
  readonly idOf?: (key: SandboxKey) => SandboxId
}

/** An id that nobody has yet, drawn before the member is made, so that whoever keeps it can look for the member afterwards. */
export interface Reservation {
  readonly id: SandboxId
  /** Where nothing is made of it. Nothing happens where something was. */
  giveBack(): Promise<void>
}

export interface PoolAcquire<Request> {
  readonly request?: Request | undefined
  /** Of one without a key: as it was reserved. Law: under one id there is one member, which whoever comes second is given. */
  readonly id?: SandboxId | undefined
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Pool<Handle, Request> {
  /** Nobody waits for it: a lease that was taken ahead goes with it, if one is there. */
  reserve(): Reservation
  /** Without a key: a new one, or the one that lies under `id`. */
  acquire(key: SandboxKey | undefined, options?: PoolAcquire<Request>): Promise<Borrowed<Handle>>
  /** One that is there, by its id, whatever its key. NOT_FOUND where there is none; it is never made anew. */
  open(id: SandboxId, options?: PoolAcquire<Request>): Promise<Borrowed<Handle>>
  /** From memory, and only while it is active. */
  find(id: string): Handle | undefined
  /** The same for somebody who is about to use it: from now on it is neither taken for idle nor parked for an earlier release. */
  use(id: string): Handle | undefined
  /** Parks it; where a command is under way, when that has ended. Nothing happens where it is not active here. */
  release(id: string): Promise<void>
  /** Ends it with its files, wherever it is. BUSY where another process uses it. */
  destroy(id: SandboxId, options?: Pick<PoolAcquire<Request>, 'waitMs' | 'signal'>): Promise<void>
  /** Ends it but for its files, also what is under way in it; a use that is to be alone first comes to its own end. Nothing happens where this
   * process does not have it. */
  rest(id: SandboxId): Promise<void>
  list(): readonly PoolMember<Handle>[]
  stats(): PoolStats
  /** One pass each; they also go on by themselves. */
  reap(): Promise<void>
  reconcile(): Promise<void>
  /** Lets go of all members, and ends none that can live on. */
  reset(): Promise<void>
  /** Takes nothing new, ends its members but for their files, and stops. */
  shutdown(): Promise<void>
}

const restPauseMs = 50

export function openPool<Handle, Request>(options: PoolOptions<Handle, Request>): Pool<Handle, Request> {
  const { clock, leases, members } = options
  const idOf = rememberIds(options.idOf ?? idOfKey)
  const limits = checkLimits(options.limits)
  // What is in its turn is not evicted, so whoever waits for a place has to look again behind each.
  const turns = openTurns({ onIdle: () => places.look() })
  const seats: Room<Handle, Request>['seats'] = new Map()
  let closing: Promise<void> | undefined

  const behind = (id: SandboxId, work: () => Promise<void>): void => void turns.take(id, work).catch(() => {})
  const places = openPlaces({ replicas: limits.replicas, clock, evict: () => evictOne(room) })
  const holdings = openHoldings({
    clock,
    leases,
    onRest: (id) => {
      if (seats.get(id)?.isParkWished === true) behind(id, () => parkIfWished(id))
    },
    onLost: (tenure) =>
      behind(tenure.id, async () => {
        const seat = seats.get(tenure.id)
        if (seat?.tenure === tenure && tenure.phase === 'over') await lose(room, seat)
      }),
  })
  const ahead = openLeasesAhead({ clock, holdings, newId: idWithoutKey })
  const room: Room<Handle, Request> = { clock, members, holdings, limits, places, turns, seats, counts: newCounts() }
  const reconciler = createReconciler(room, leases)

  const parkIfWished = async (id: SandboxId): Promise<void> => {
    const seat = seats.get(id)
    if (seat?.isParkWished === true && seat.tenure.phase === 'held' && seat.tenure.works === 0) await park(room, seat)
  }

  const take = async (
    id: SandboxId,
    key: SandboxKey | null | undefined,
    { request, waitMs = limits.waitMs, signal }: PoolAcquire<Request>,
    tenure?: HeldTenure,
  ): Promise<Borrowed<Handle>> => {
    const work = async (): Promise<Borrowed<Handle>> => {
      if (closing !== undefined) throw draining()
      return await borrow(room, { id, key, request, signal, untilMs: clock.nowMs() + waitMs, tenure })
    }
    return await turns.take(id, work, signal)
  }

  const reserved = new Map<SandboxId, HeldTenure>()
  const leaseOf = (id: SandboxId): HeldTenure | undefined => {
    const tenure = reserved.get(id)
    reserved.delete(id)
    return tenure
  }
  const reserve = (): Reservation => {
    const tenure = closing === undefined ? ahead.take() : undefined
    const id = tenure?.id ?? idWithoutKey()
    if (tenure !== undefined) reserved.set(id, tenure)
    return {
      id,
      async giveBack() {
        const unused = leaseOf(id)
        if (unused !== undefined) await holdings.drop(unused)
      },
    }
  }

  const takeNew = async (asked: PoolAcquire<Request>): Promise<Borrowed<Handle>> => {
    const id = asked.id ?? reserve().id
    const tenure = leaseOf(id)
    if (tenure === undefined) return await take(id, null, asked)
    try {
      return await take(tenure.id, null, asked, tenure)
    } catch (error) {
      if (tenure.phase !== 'over') await holdings.drop(tenure)
      throw error
    }
  }

  const letGo = async (id: SandboxId): Promise<void> => {
    const seat = seats.get(id)
    if (seat === undefined) return
    const { tenure } = seat
    await forget(room, seat)
    await holdings.drop(tenure)
  }

  const endAll = async (): Promise<void> => {
    places.close()
    await turns.settled()
    await fewAtOnce(seats.values(), (seat) =>
      // What cannot be ended now is let go of: whoever comes next finds it without an owner.
      turns.take<unknown>(seat.id, () =>
        endSeat(room, seat, seat.leaving ?? 'shutdown').catch(() => forget(room, seat)),
      ),
    )
    await ahead.close()
    await loops.stop()
    await leases.close()
  }

  const loops = startLoops({
    clock,
    ttlMs: leases.ttlMs,
    limits,
    holdings,
    reap: () => reap(room),
    reconcile: () => reconciler.pass(),
  })

  return {
    reserve,
    acquire: async (key, asked = {}) => (key === undefined ? await takeNew(asked) : await take(idOf(key), key, asked)),
    open: async (id, asked = {}) => await take(id, undefined, asked),
    find: (id) => {
      const seat = seats.get(id as SandboxId)
      return seat?.tenure.phase === 'held' ? seat.handle : undefined
    },
    use: (id) => {
      const seat = seats.get(id as SandboxId)
      if (seat?.tenure.phase !== 'held') return undefined
      seat.isParkWished = false
      seat.tenure.touch()
      return seat.handle
    },
    release: async (id) =>
      await turns.take(id, async () => {
        const seat = seats.get(id as SandboxId)
        if (seat?.tenure.phase !== 'held') return
        seat.tenure.touch()
        seat.isParkWished = true
        await parkIfWished(seat.id)
      }),
    destroy: async (id, { waitMs = limits.waitMs, signal } = {}) =>
      await turns.take(id, () => destroyAsked(room, { id, untilMs: clock.nowMs() + waitMs, signal }), signal),
    rest: async (id) =>
      await turns.take(id, async () => {
        const seat = seats.get(id)
        while (seat?.tenure.isAlone === true) await clock.sleep(restPauseMs)
        if (seat !== undefined) await endSeat(room, seat, 'paused')
      }),
    list: () => membersOf(room),
    stats: () => statsOf(room),
    reap: () => reap(room),
    reconcile: () => reconciler.pass(),
    reset: () => fewAtOnce(seats.keys(), (id) => turns.take(id, () => letGo(id))),
    shutdown: () => (closing ??= endAll()),
  }
}

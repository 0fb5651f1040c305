// All leases of this process: asked for, renewed together, and given back. Whatever the answer to a question about a lease is, the
// time that it may be used for is counted from before the question was sent.
import type { SandboxId } from '../contract/ids.ts'
import type { FormerLease, LeaseState, Leases } from '../contract/lease.ts'
import { usableFor } from './limits.ts'
import type { Clock } from './ports.ts'
import { createTenure, type HeldTenure, type Phase } from './tenure.ts'

export type Taken =
  | { readonly granted: true; readonly tenure: HeldTenure; readonly former: FormerLease }
  | { readonly granted: false; readonly state: LeaseState }

export interface Holdings {
  take(id: SandboxId): Promise<Taken>
  /** A parked one, to be used again. Where it is refused the tenure is over. */
  retake(tenure: HeldTenure): Promise<Taken>
  /**
   * False: it is somebody else's by now, and the tenure over. From the call on nothing begins under it, also where it rejects: the
   * lease may be condemned all the same.
   */
  condemn(tenure: HeldTenure): Promise<boolean>
  /** What nobody holds. Undefined: somebody does. */
  condemnUnowned(id: SandboxId): Promise<HeldTenure | undefined>
  /** False: lost, and over. When it rejects, it is parked for this process and for no other yet. */
  park(tenure: HeldTenure): Promise<boolean>
  /** Asks at once. False: lost, and over. */
  renew(tenure: HeldTenure): Promise<boolean>
  /** The tenure is over, whatever comes of telling others so: an untold lease ends by its time. */
  drop(tenure: HeldTenure): Promise<void>
  renewAll(): Promise<void>
  /** Ends what is under way in tenures whose time is over. */
  expireAll(): void
  /** When the next tenure's time will be over; undefined where there is none. */
  nextEndMs(): number | undefined
}

export interface HoldingsOptions {
  readonly clock: Clock
  readonly leases: Leases
  /** Nothing is under way any more in the member of this id. */
  readonly onRest: (id: SandboxId) => void
  /** A renewal showed that it is somebody else's. */
  readonly onLost: (tenure: HeldTenure) => void
}

export function openHoldings({ clock, leases, onRest, onLost }: HoldingsOptions): Holdings {
  const held = new Set<HeldTenure>()
  const untilMs = (sentAtMs: number): number => sentAtMs + usableFor(leases.ttlMs)

  const over = (tenure: HeldTenure): void => {
    tenure.enter('over')
    held.delete(tenure)
  }

  const asking = async <T>(tenure: HeldTenure, question: () => Promise<T>): Promise<T> => {
    tenure.isAsking = true
    try {
      return await question()
    } finally {
      tenure.isAsking = false
    }
  }

  const grantTo = async (tenure: HeldTenure, phase: Phase, ask: Leases['take']): Promise<Taken> =>
    await asking(tenure, async () => {
      const sentAtMs = clock.nowMs()
      const answer = await ask(tenure.id)
      if (!answer.granted) {
        over(tenure)
        return answer
      }
      tenure.hold({ token: answer.token, untilMs: untilMs(sentAtMs) }, phase)
      held.add(tenure)
      return { granted: true, tenure, former: answer.former }
    })

  const renewThese = async (asked: readonly HeldTenure[]): Promise<readonly HeldTenure[]> => {
    const sentAtMs = clock.nowMs()
    const sent = asked.map((tenure) => ({ tenure, id: tenure.id, token: tenure.token }))
    const ours = await leases.renew(sent.map(({ id, token }) => ({ id, token })))
    const answered = sent.filter(({ tenure, token }) => held.has(tenure) && tenure.token === token && !tenure.isAsking)
    for (const { tenure } of answered) if (ours.has(tenure.id)) tenure.prolong(untilMs(sentAtMs))
    const gone = answered.map(({ tenure }) => tenure).filter(({ id }) => !ours.has(id))
    gone.forEach(over)
    return gone
  }

  return {
    take: (id) => grantTo(createTenure({ id, clock, onRest }), 'held', (one) => leases.take(one)),
    retake: (tenure) => grantTo(tenure, 'held', (id) => leases.take(id)),
    async condemn(tenure) {
      tenure.enter('leaving')
      return (await grantTo(tenure, 'leaving', (id) => leases.condemn(id, { token: tenure.token }))).granted
    },
    async condemnUnowned(id) {
      const tenure = createTenure({ id, clock, onRest })
      return (await grantTo(tenure, 'leaving', (one) => leases.condemn(one))).granted ? tenure : undefined
    },
    async park(tenure) {
      tenure.enter('parked')
      const isOurs = await asking(tenure, () => leases.park({ id: tenure.id, token: tenure.token }))
      if (!isOurs) over(tenure)
      return isOurs
    },
    async renew(tenure) {
      return (await renewThese([tenure])).length === 0 && tenure.phase !== 'over'
    },
    async drop(tenure) {
      over(tenure)
      await leases.drop({ id: tenure.id, token: tenure.token }).catch(() => {})
    },
    async renewAll() {
      const asked = [...held].filter(({ isAsking }) => !isAsking)
      if (asked.length > 0) (await renewThese(asked)).forEach(onLost)
    },
    expireAll: () => held.forEach((tenure) => tenure.expire()),
    nextEndMs() {
      const nowMs = clock.nowMs()
      const ends = [...held].map(({ usableUntilMs }) => usableUntilMs).filter((endMs) => endMs > nowMs)
      return ends.length === 0 ? undefined : Math.min(...ends)
    },
  }
}

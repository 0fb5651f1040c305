// One tenure: a lease as its holder sees it, with a deadline of its own that comes before the lease's end. It answers from memory,
// so that a command pays nothing for it, and a process that slept through the deadline finds it passed when it wakes.
import type { SandboxId } from '../contract/ids.ts'
import type { Clock, Tenure, Use, Work } from './ports.ts'
import { lost, released } from './refusals.ts'

/** `held`: may be used. `parked`: whoever comes first may have it. `leaving`: being destroyed. `over`: no longer ours. */
export type Phase = 'held' | 'parked' | 'leaving' | 'over'

export interface HeldTenure extends Tenure {
  readonly phase: Phase
  /** Uses that have begun and not ended. */
  readonly works: number
  /** One of them is to be alone. */
  readonly isAlone: boolean
  /** When a use last began or ended, or somebody acquired or released it. */
  readonly usedAtMs: number
  readonly usableUntilMs: number
  /** A question about it is under way, and its answer, not a renewal's, tells whose it is. */
  isAsking: boolean
  /** May be used at this moment. */
  isUsable(): boolean
  /** A new grant: a new token, and time. */
  hold(grant: { readonly token: number; readonly untilMs: number }, phase: Phase): void
  /** The same token for longer. */
  prolong(untilMs: number): void
  enter(phase: Phase): void
  /** Ends what is under way, where the time for it is over. */
  expire(): void
  touch(): void
}

// Not an AbortSignal: every command and every operation on a file begins one, and hardly any is ever lost. A class for the same reason: an
// object that is written down with a getter costs V8 a hidden class of its own.
class BegunWork implements Work {
  readonly end: () => void
  readonly isAlone: boolean
  #isLost = false
  #endStarted: (() => void) | undefined

  constructor(use: Use | undefined, end: (work: BegunWork) => void) {
    this.isAlone = use?.isAlone === true
    this.end = () => end(this)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  whenLost(stop: () => void): void {
    this.#endStarted = stop
  }

  lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#endStarted?.()
  }
}

export interface TenureOptions {
  readonly id: SandboxId
  readonly clock: Clock
  readonly onRest: (id: SandboxId) => void
}

export function createTenure({ id, clock, onRest }: TenureOptions): HeldTenure {
  let phase: Phase = 'over'
  let token = 0
  let usableUntilMs = 0
  let usedAtMs = clock.nowMs()
  const works = new Set<BegunWork>()

  const endWorks = (): void => works.forEach((work) => work.lose())
  const isUsable = (): boolean => phase === 'held' && clock.nowMs() < usableUntilMs

  const begin = (use?: Use): Work => {
    if (phase === 'parked' || phase === 'leaving') throw released()
    if (!isUsable()) {
      endWorks()
      throw lost()
    }
    const work = new BegunWork(use, (ended) => {
      if (!works.delete(ended)) return
      usedAtMs = clock.nowMs()
      if (works.size === 0) onRest(id)
    })
    works.add(work)
    usedAtMs = clock.nowMs()
    return work
  }

  return {
    id,
    isAsking: false,
    get token() {
      return token
    },
    get phase() {
      return phase
    },
    get works() {
      return works.size
    },
    get isAlone() {
      return [...works].some((work) => work.isAlone)
    },
    get usedAtMs() {
      return usedAtMs
    },
    get usableUntilMs() {
      return usableUntilMs
    },
    begin,
    isUsable,
    hold(grant, next) {
      token = grant.token
      usableUntilMs = grant.untilMs
      phase = next
    },
    prolong(untilMs) {
      usableUntilMs = Math.max(usableUntilMs, untilMs)
    },
    enter(next) {
      phase = next
      if (next !== 'held') endWorks()
    },
    expire() {
      if (clock.nowMs() >= usableUntilMs) endWorks()
    },
    touch() {
      usedAtMs = clock.nowMs()
    },
  }
}

// What one token may have at a time, so that its haste is not the others' delay. Kept by token, on the monotonic clock.
import { GloveboxError } from '../../errors/error.ts'
import type { Hold } from './hold.ts'
import type { Limits } from './limits.ts'
import type { Presence } from './presence.ts'

interface Use {
  inFlight: number
  streams: number
  /** Requests that may still be made now. */
  credit: number
  creditAt: number
}

export interface Throttle {
  /** What is returned must be called once the request is answered. An error, TOO_MANY_REQUESTS, is not thrown: it is the same one for
   * all, since whoever floods a server should not make it gather stacks. It says when the caller may ask again as it stands with others
   * now. */
  enter(who: string): (() => void) | GloveboxError
  /** For an event stream, which lasts. Throws it. */
  enterStream(tokenId: string): () => void
  /** Callers of whom anything is remembered. */
  readonly size: number
}

/** Beside others, of somebody who was told to wait and did not. */
const shareOfHeld = 0.2
/** What it may have at once of that: else it would save up while it is held, and come with all of it in one moment. */
const burstOfHeld = 32

/** So many are gone through, and then again when there are twice as many as were left. */
const manyUses = 1000

type Kept = Pick<
  Limits,
  'inFlightPerToken' | 'streamsPerToken' | 'requestsPerSecond' | 'requestsPerSecondBesideOthers' | 'burst'
>

export function createThrottle(
  limits: Kept,
  { isAlone }: Pick<Presence, 'isAlone'>,
  { wasHeld }: Pick<Hold, 'wasHeld'>,
  now: () => number = () => performance.now(),
): Throttle {
  const besideOthers = Math.min(limits.requestsPerSecond, limits.requestsPerSecondBesideOthers)
  const rateOf = (who: string): number => {
    if (isAlone(who)) return limits.requestsPerSecond
    return wasHeld(who) ? besideOthers * shareOfHeld : besideOthers
  }
  const burstOf = (who: string): number =>
    wasHeld(who) && !isAlone(who) ? Math.min(limits.burst, burstOfHeld) : limits.burst
  const uses = new Map<string, Use>()
  let sweepAt = manyUses
  /** Whoever left before its credit was full again would stay, and strangers have as many addresses as they like. */
  const sweep = (): void => {
    const at = now()
    for (const [who, { inFlight, streams, credit, creditAt }] of uses) {
      const isRested = credit + ((at - creditAt) / 1000) * besideOthers * shareOfHeld >= limits.burst
      if (inFlight === 0 && streams === 0 && isRested) uses.delete(who)
    }
    sweepAt = Math.max(manyUses, 2 * uses.size)
  }
  const useOf = (tokenId: string): Use => {
    if (uses.size >= sweepAt) sweep()
    const at = now()
    const use = uses.get(tokenId) ?? { inFlight: 0, streams: 0, credit: limits.burst, creditAt: at }
    use.credit = Math.min(burstOf(tokenId), use.credit + ((at - use.creditAt) / 1000) * rateOf(tokenId))
    use.creditAt = at
    uses.set(tokenId, use)
    return use
  }
  /** Whoever leaves twice has left once. */
  const leaving = (tokenId: string, what: 'inFlight' | 'streams'): (() => void) => {
    let hasLeft = false
    return () => {
      if (!hasLeft) leave(tokenId, what)
      hasLeft = true
    }
  }
  const leave = (tokenId: string, what: 'inFlight' | 'streams'): void => {
    const use = uses.get(tokenId)
    if (use === undefined) return
    use[what] -= 1
    // A token at rest with its full credit is as good as a new one.
    if (use.inFlight === 0 && use.streams === 0 && useOf(tokenId).credit >= limits.burst) uses.delete(tokenId)
  }
  const tooOften = tooMany('requests in a second', 1 / besideOthers)
  const tooOftenHeld = tooMany('requests in a second', 1 / (besideOthers * shareOfHeld))
  const refusalOf = (who: string): GloveboxError => (wasHeld(who) && !isAlone(who) ? tooOftenHeld : tooOften)
  const tooManyAtOnce = tooMany('requests at the same time', 1)
  return {
    enter(who) {
      const use = useOf(who)
      if (use.credit < 1) return refusalOf(who)
      if (use.inFlight >= limits.inFlightPerToken) return tooManyAtOnce
      use.credit -= 1
      use.inFlight += 1
      return leaving(who, 'inFlight')
    },
    enterStream(tokenId) {
      const use = useOf(tokenId)
      if (use.streams >= limits.streamsPerToken) throw tooMany('open streams', 5)
      use.streams += 1
      return leaving(tokenId, 'streams')
    },
    get size() {
      return uses.size
    },
  }
}

export const tooMany = (what: string, retryAfterSeconds: number): GloveboxError =>
  new GloveboxError('TOO_MANY_REQUESTS', `Cannot answer now: the token has too many ${what}`, {
    hint: 'Wait as long as Retry-After says.',
    facts: { retryAfterSeconds },
  })

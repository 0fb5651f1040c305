// How long a member lives, told from its record alone and from the age that the operator allows, so that any process at any time tells
// the same. Its life can be moved; its age is counted from its making, through every renewal, pause and change of owner.
import type { MemberRecord } from './record.ts'

/** `live`: it may be used, and is opened when it is. `paused`: so too, and its life then begins anew. `over`: it is no more. */
export type Standing = 'live' | 'paused' | 'over'

/** A paused one costs its files only, and is kept for so long. */
export const pausedForMs = 30 * 24 * 60 * 60_000

export interface Moment {
  readonly now?: number | undefined
  /** No member grows older. Default: any age. */
  readonly maxAgeMs?: number | undefined
}

type Timed = Pick<MemberRecord, 'created_at' | 'expires_at' | 'at_end' | 'paused_at'>

const anyAge = Number.POSITIVE_INFINITY

/** The end that nothing moves. */
export const oldestAt = ({ created_at: begun }: Pick<MemberRecord, 'created_at'>, maxAgeMs = anyAge): number =>
  Date.parse(begun) + maxAgeMs

/** A record may be of a time when more was allowed. */
export const endOf = (record: Pick<MemberRecord, 'created_at' | 'expires_at'>, maxAgeMs?: number): number =>
  Math.min(Date.parse(record.expires_at), oldestAt(record, maxAgeMs))

export function standingOf(record: Timed, { now = Date.now(), maxAgeMs }: Moment = {}): Standing {
  // SECURITY: whoever renews or resumes for ever must not have a place of the host for ever.
  // test/e2e/pool-ages: "ends at its age, whatever its record says of its life"
  if (now >= oldestAt(record, maxAgeMs)) return 'over'
  const end = Date.parse(record.expires_at)
  if (record.paused_at !== null) return now < end ? 'paused' : 'over'
  if (now < end) return 'live'
  // Nobody had to write it down: one that is to rest at its end is resting from then on.
  return record.at_end === 'pause' && now < end + pausedForMs ? 'paused' : 'over'
}

const at = (ms: number): string => new Date(ms).toISOString()

/** Its end where its age allows it. Whoever asks for more is refused before; this is for what nobody has asked for in numbers. */
export const withinAge = (record: MemberRecord, maxAgeMs?: number): MemberRecord => ({
  ...record,
  expires_at: at(endOf(record, maxAgeMs)),
})

export const asPaused = (record: MemberRecord, { now = Date.now(), maxAgeMs }: Moment = {}): MemberRecord =>
  withinAge({ ...record, paused_at: at(now), expires_at: at(now + pausedForMs) }, maxAgeMs)

/** A new life of its own length, or of another, which is then its own. */
export const asRenewed = (
  record: MemberRecord,
  { lifeMs = record.life_ms, now = Date.now(), maxAgeMs }: Moment & { readonly lifeMs?: number | undefined } = {},
): MemberRecord => withinAge({ ...record, paused_at: null, life_ms: lifeMs, expires_at: at(now + lifeMs) }, maxAgeMs)

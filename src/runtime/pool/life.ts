// How long a member lives, told from its record alone, so that any process at any time tells the same.
import type { MemberRecord } from './record.ts'

/** `live`: it may be used, and is opened when it is. `paused`: so too, and its life then begins anew. `over`: it is no more. */
export type Standing = 'live' | 'paused' | 'over'

/** A paused one costs its files only, and is kept for so long. */
export const pausedForMs = 30 * 24 * 60 * 60_000

export function standingOf(
  record: Pick<MemberRecord, 'expires_at' | 'at_end' | 'paused_at'>,
  now = Date.now(),
): Standing {
  const end = Date.parse(record.expires_at)
  if (record.paused_at !== null) return now < end ? 'paused' : 'over'
  if (now < end) return 'live'
  // Nobody had to write it down: one that is to rest at its end is resting from then on.
  return record.at_end === 'pause' && now < end + pausedForMs ? 'paused' : 'over'
}

const at = (ms: number): string => new Date(ms).toISOString()

export const asPaused = (record: MemberRecord, now = Date.now()): MemberRecord => ({
  ...record,
  paused_at: at(now),
  expires_at: at(now + pausedForMs),
})

/** A new life of its own length, or of another, which is then its own. */
export const asRenewed = (record: MemberRecord, lifeMs = record.life_ms, now = Date.now()): MemberRecord => ({
  ...record,
  paused_at: null,
  life_ms: lifeMs,
  expires_at: at(now + lifeMs),
})

// For how long other servers have been silent, on our own clock. Silence says something only while we hear: after a time in which
// nobody could look, because the store was away or this process stood still, everybody is listened to anew.
import { performance } from 'node:perf_hooks'
import type { OwnerRow } from '../contract/owner.ts'

export interface Silences {
  /** Those of them whose beat has stood still for longer than the grace, and was looked at all the while. */
  look(owners: readonly Heard[]): ReadonlySet<string>
}

type Heard = Pick<OwnerRow, 'owner' | 'beat'>

export interface SilencesOptions {
  readonly graceMs: number
  readonly now?: () => number
}

/** Looks that lie further apart than this part of the grace are not one time of listening: others may have beaten in vain. */
const farthestApart = 1 / 3

export function openSilences({ graceMs, now = () => performance.now() }: SilencesOptions): Silences {
  let heard = new Map<string, { readonly beat: number; readonly atMs: number }>()
  let lookedAtMs = now()
  return {
    look(owners) {
      const nowMs = now()
      const before = nowMs - lookedAtMs > graceMs * farthestApart ? new Map<string, never>() : heard
      lookedAtMs = nowMs
      heard = new Map(
        owners.map(({ owner, beat }) => {
          const last = before.get(owner)
          return [owner, last?.beat === beat ? last : { beat, atMs: nowMs }]
        }),
      )
      return new Set([...heard].flatMap(([owner, { atMs }]) => (nowMs - atMs > graceMs ? [owner] : [])))
    },
  }
}

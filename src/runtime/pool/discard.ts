// Throwing a member away: out of sight in one step, so that nobody finds half of it, and what a kill leaves of that is swept.
import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { namesIfThere } from '../../paths/if-there.ts'
import { forgetOpening } from './opening.ts'
import { discardedPlace, isDiscarded, memberPlace, membersIn } from './place.ts'
import { readRecord, type MemberRecord } from './record.ts'
import { sweepSnapshots } from './snapshot-sweep.ts'
import { removePlace } from './spare-place.ts'

/** Out of sight at once; the bytes may take their time. The token stays where the id could come again. */
export async function discard(state: HostPath, id: SandboxId): Promise<void> {
  const place = memberPlace(state, id)
  // A link to a spare that is gone is there too.
  if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return
  const record = recordOrUndefined(place)
  const gone = discardedPlace(state, id, String(process.pid) + performance.now().toString(36).replace('.', ''))
  renameSync(place, gone)
  await removePlace(state, gone)
  if (record === undefined) return
  if (record.key === null) forgetOpening(state, id)
  if (record.layers.length > 0) await sweepSnapshots(state)
}

function recordOrUndefined(place: HostPath): MemberRecord | undefined {
  try {
    return readRecord(place)
  } catch (error) {
    if (error instanceof GloveboxError) return undefined
    throw error
  }
}

/** What a process that was killed was throwing away. */
export async function sweepDiscarded(state: HostPath): Promise<void> {
  const left = namesIfThere(membersIn(state)).filter(isDiscarded)
  for (const name of left) await removePlace(state, join(membersIn(state), name)).catch(() => {})
}

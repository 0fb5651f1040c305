// Deleted snapshots go when nothing stands on them. What stands on them may be of other processes, and is read from the disk each time:
// what one of them remembers is not enough to throw files away by.
import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import { namesIfThere } from '../../paths/if-there.ts'
import { isErrno } from '../../paths/refusal.ts'
import { removeTree } from '../../paths/remove-tree.ts'
import { snapshotsIn } from './place.ts'
import type { MemberRecord } from './record.ts'
import { openIndex } from './records.ts'
import { listSnapshots, snapshotPlace, stagePlace, stagePrefix } from './snapshots.ts'

/** How many there were. */
export async function sweepSnapshots(state: HostPath): Promise<number> {
  // In this order, though all of it takes its time. Whoever comes to stand on one looks for its mark afterwards, so that after the mark
  // nobody does; and a member that stood on one goes only when the snapshot that was made of it is there.
  const deleted = (await listSnapshots(state)).filter((each) => each.is_deleted)
  const cutOff = oldStages(state)
  if (deleted.length === 0 && cutOff.length === 0) return 0
  const members = await openIndex(state).refreshed()
  const needed = await neededBy(state, members)
  const gone = deleted.flatMap(({ id }) => (needed.has(id) ? [] : (outOfSight(state, id) ?? [])))
  const kept = new Set(members.map(({ snapshotting }) => stagePlace(state, String(snapshotting))))
  for (const stage of [...gone, ...cutOff.filter((place) => !kept.has(place))]) await removeTree(stage)
  return gone.length
}

async function neededBy(state: HostPath, members: readonly MemberRecord[]): Promise<ReadonlySet<string | null>> {
  const shown = (await listSnapshots(state)).filter((each) => !each.is_deleted)
  const layers = [...members, ...shown].flatMap((each) => each.layers)
  return new Set([...layers, ...members.map(({ snapshotting }) => snapshotting)])
}

/** At once: a crash must not leave half a snapshot under its name. Undefined: somebody else was quicker. */
function outOfSight(state: HostPath, id: string): string | undefined {
  const stage = stagePlace(state, `gone-${id}`)
  try {
    renameSync(snapshotPlace(state, id), stage)
    return stage
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** A copy takes its time, but not so long. */
const longestCopyMs = 6 * 60 * 60_000

/** What copies left that were cut off. */
const oldStages = (state: HostPath): readonly string[] =>
  namesIfThere(snapshotsIn(state))
    .filter((name) => name.startsWith(stagePrefix))
    .map((name) => join(snapshotsIn(state), name))
    .filter((place) => {
      const seen = statSync(place, { throwIfNoEntry: false })
      return seen !== undefined && Date.now() - seen.mtimeMs > longestCopyMs
    })

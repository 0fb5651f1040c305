// The snapshots of all, remembered: lists and quotas ask for them with every request, and to read each record anew would hold up everybody
// else. Other servers may make and delete them in the same directory, so each question looks at what is there, a piece at a time, and reads
// what it does not know in its present state.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import { namesIfThere } from '../../paths/if-there.ts'
import { inPieces } from '../../pool/in-pieces.ts'
import { snapshotsIn } from './place.ts'
import {
  findSnapshot,
  isSnapshotId,
  snapshotFile,
  snapshotPlace,
  type SnapshotId,
  type SnapshotRecord,
} from './snapshots.ts'

export interface SnapshotIndex {
  /** Looks at what is there. Those who ask meanwhile share the next look. */
  refresh(): Promise<void>
  /** Not deleted, as they were seen last. */
  known(): readonly SnapshotRecord[]
  /** One that was made or deleted just now, before the next look. */
  look(id: SnapshotId): void
}

interface Seen {
  /** Of the file: a record is replaced by another file. */
  readonly state: string
  /** Undefined: it cannot be read. */
  readonly record: SnapshotRecord | undefined
}

export function openSnapshotIndex(state: HostPath): SnapshotIndex {
  const seen = new Map<SnapshotId, Seen>()
  let going: Promise<void> | undefined
  let next: Promise<void> | undefined

  const look = (id: SnapshotId): void => {
    const now = stateOf(join(snapshotPlace(state, id), snapshotFile))
    if (now === undefined) seen.delete(id)
    else if (seen.get(id)?.state !== now) seen.set(id, { state: now, record: findSnapshot(state, id) })
  }
  const lookAtAll = async (): Promise<void> => {
    const ids = namesIfThere(snapshotsIn(state)).filter(isSnapshotId)
    const there = new Set(ids)
    for (const id of seen.keys()) if (!there.has(id)) seen.delete(id)
    await inPieces(ids, (piece) => {
      piece.forEach(look)
      return []
    })
  }
  const begin = (): Promise<void> => {
    const mine = lookAtAll().finally(() => {
      if (going === mine) going = undefined
    })
    going = mine
    return mine
  }
  const behind = async (before: Promise<void>): Promise<void> => {
    await before.catch(() => {})
    next = undefined
    await begin()
  }

  return {
    // One that is under way may have passed what has changed since.
    refresh: () => (going === undefined ? begin() : (next ??= behind(going))),
    known: () => [...seen.values()].flatMap(({ record }) => (record?.is_deleted === false ? [record] : [])),
    look,
  }
}

function stateOf(file: string): string | undefined {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? undefined : [stats.ino, stats.ctimeNs, stats.size].join(' ')
}

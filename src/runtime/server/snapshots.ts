// Snapshots of sandboxes, as a server keeps them: of a project, with or without a name, newest first.
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { Page, PageRequest } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Lifetimes } from '../pool/lifetimes.ts'
import { openSnapshotIndex } from '../pool/snapshot-index.ts'
import { sweepSnapshots } from '../pool/snapshot-sweep.ts'
import {
  deleteSnapshot,
  findSnapshot,
  isSnapshotId,
  newSnapshotId,
  type SnapshotId,
  type SnapshotRecord,
} from '../pool/snapshots.ts'
import type { AtWork } from './at-work.ts'
import { admittance, type SandboxLimits } from './quota.ts'

export interface SnapshotFilter {
  readonly project?: string | undefined
  readonly sandboxId?: string | undefined
  readonly name?: string | undefined
}

export interface TakeRequest {
  readonly name: string | null
  readonly tokenId: string
  /** As it was reserved. One that lies under it already was taken by an earlier sending of the request, and is the answer. */
  readonly snapshotId?: string | undefined
}

export interface SnapshotHouse {
  /** The id that the next one will have, before it is taken. */
  reserve(): SnapshotId
  /** QUOTA_EXCEEDED where the token has as many as it may have. */
  take(id: SandboxId, asked: TakeRequest): Promise<SnapshotRecord>
  find(id: string): SnapshotRecord | undefined
  list(filter: SnapshotFilter, page: PageRequest): Promise<Page<SnapshotRecord>>
  /** Sandboxes that stand on it go on. */
  delete(snapshot: SnapshotRecord): Promise<void>
}

export interface SnapshotHouseOptions {
  readonly state: HostPath
  readonly lifetimes: Lifetimes
  readonly work: AtWork
  readonly limits: Pick<SandboxLimits, 'snapshotsPerToken'>
}

export function openSnapshotHouse({ state, lifetimes, work, limits }: SnapshotHouseOptions): SnapshotHouse {
  const index = openSnapshotIndex(state)
  // Whoever deleted one has done what he could: that a sandbox still stands on it is counted with the sandboxes.
  const admit = admittance({
    most: limits.snapshotsPerToken,
    count: (tokenId) => index.known().filter(({ token_id: owner }) => owner === tokenId).length,
    what: 'snapshots',
    work,
  })
  return {
    reserve: newSnapshotId,
    async take(id, { name, tokenId, snapshotId }) {
      if (snapshotId !== undefined && !isSnapshotId(snapshotId))
        throw new GloveboxError(
          'RECORD_DAMAGED',
          'Cannot take the snapshot: what its Idempotency-Key is bound to is no id',
        )
      await index.refresh()
      const isThere = snapshotId !== undefined && findSnapshot(state, snapshotId) !== undefined
      const leave = isThere ? work.begin() : admit(tokenId)
      try {
        const taken = await lifetimes.snapshot(id, { name, tokenId, snapshotId })
        index.look(taken.id)
        return taken
      } finally {
        leave()
      }
    },
    find(id) {
      const found = findSnapshot(state, id)
      return found?.is_deleted === false ? found : undefined
    },
    async list({ project, sandboxId, name }, { limit, after }) {
      await index.refresh()
      const behind = after === undefined ? undefined : `${after.created_at} ${after.id}`
      const found = index
        .known()
        .filter((each) => project === undefined || each.project === project)
        .filter((each) => sandboxId === undefined || each.sandbox_id === sandboxId)
        .filter((each) => name === undefined || each.name === name)
        .map((record) => ({ record, key: `${record.created_at} ${record.id}` }))
        .filter(({ key }) => behind === undefined || key < behind)
        .toSorted((one, other) => (one.key < other.key ? 1 : -1))
      const rows = found.slice(0, limit).map(({ record }) => record)
      const last = rows.at(-1)
      const hasMore = found.length > rows.length && last !== undefined
      return { rows, next: hasMore ? { created_at: last.created_at, id: last.id } : null }
    },
    async delete(snapshot) {
      await deleteSnapshot(state, snapshot)
      index.look(snapshot.id)
      await sweepSnapshots(state)
    },
  }
}

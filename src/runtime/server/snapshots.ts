// Snapshots of sandboxes, as a server keeps them: of a project, with or without a name, newest first.
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { Page, PageRequest } from '../../contract/store.ts'
import type { Lifetimes } from '../pool/lifetimes.ts'
import type { RealMembers } from '../pool/members.ts'
import { deleteSnapshot, findSnapshot, listSnapshots, sweepSnapshots, type SnapshotRecord } from '../pool/snapshots.ts'

export interface SnapshotFilter {
  readonly project?: string | undefined
  readonly sandboxId?: string | undefined
  readonly name?: string | undefined
}

export interface SnapshotHouse {
  take(id: SandboxId, name: string | null): Promise<SnapshotRecord>
  find(id: string): SnapshotRecord | undefined
  list(filter: SnapshotFilter, page: PageRequest): Page<SnapshotRecord>
  /** Sandboxes that stand on it go on. */
  delete(snapshot: SnapshotRecord): Promise<void>
}

export interface SnapshotHouseOptions {
  readonly state: HostPath
  readonly members: RealMembers
  readonly lifetimes: Lifetimes
}

export function openSnapshotHouse({ state, members, lifetimes }: SnapshotHouseOptions): SnapshotHouse {
  return {
    take: (id, name) => lifetimes.snapshot(id, name),
    find(id) {
      const found = findSnapshot(state, id)
      return found?.is_deleted === false ? found : undefined
    },
    list({ project, sandboxId, name }, { limit, after }) {
      const keyOf = ({ created_at, id }: SnapshotRecord): string => `${created_at} ${id}`
      const behind = after === undefined ? undefined : `${after.created_at} ${after.id}`
      const found = listSnapshots(state)
        .filter((each) => !each.is_deleted && (project === undefined || each.project === project))
        .filter((each) => sandboxId === undefined || each.sandbox_id === sandboxId)
        .filter((each) => name === undefined || each.name === name)
        .filter((each) => behind === undefined || keyOf(each) < behind)
        .toSorted((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1))
      const rows = found.slice(0, limit)
      const last = rows.at(-1)
      const hasMore = found.length > rows.length && last !== undefined
      return { rows, next: hasMore ? { created_at: last.created_at, id: last.id } : null }
    },
    async delete(snapshot) {
      await deleteSnapshot(state, snapshot)
      sweepSnapshots(state, members.records())
    },
  }
}

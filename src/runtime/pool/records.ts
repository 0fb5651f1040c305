// The records of all members, remembered: lists and quotas ask for them with every request. What another process makes is found when
// it is asked for; what it changes, at the next look at all of them.
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { inPieces } from '../../pool/in-pieces.ts'
import { listMemberIds, memberPlace } from './place.ts'
import { readRecord, type MemberRecord } from './record.ts'

export interface RecordIndex {
  /** One, as it is on the disk. */
  read(id: SandboxId): MemberRecord | undefined
  known(id: SandboxId): MemberRecord | undefined
  /** All that are there; read are those that were not known. */
  all(): readonly MemberRecord[]
  /** All, read anew, a piece at a time. */
  refreshed(): Promise<readonly MemberRecord[]>
  count(wanted: (record: MemberRecord) => boolean): number
  put(record: MemberRecord): void
  drop(id: SandboxId): void
}

export function openIndex(state: HostPath): RecordIndex {
  const known = new Map<SandboxId, MemberRecord>()

  const read = (id: SandboxId): MemberRecord | undefined => {
    const record = readRecord(memberPlace(state, id))
    if (record === undefined) known.delete(id)
    else known.set(id, record)
    return record
  }
  /** A damaged one is for `ps` and `prune` to tell. */
  const readQuietly = (id: SandboxId): void => {
    try {
      read(id)
    } catch (error) {
      if (!(error instanceof GloveboxError)) throw error
      known.delete(id)
    }
  }
  const listed = (): readonly SandboxId[] => {
    const ids = listMemberIds(state)
    const there = new Set(ids)
    for (const id of known.keys()) if (!there.has(id)) known.delete(id)
    return ids
  }
  return {
    read,
    known: (id) => known.get(id),
    all() {
      for (const id of listed()) if (!known.has(id)) readQuietly(id)
      return [...known.values()]
    },
    async refreshed() {
      await inPieces(listed(), (piece) => piece.map(readQuietly))
      return [...known.values()]
    },
    count: (wanted) => [...known.values()].filter(wanted).length,
    put: (record) => void known.set(record.id, record),
    drop: (id) => void known.delete(id),
  }
}

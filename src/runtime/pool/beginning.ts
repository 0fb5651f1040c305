// What a new member begins with: nothing, or the files of a snapshot, seen through or copied.
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { copyInsides } from './copy.ts'
import { memberPlace } from './place.ts'
import type { MemberRecord } from './record.ts'
import { findSnapshot, layersOf, mostLayers, type Method, type SnapshotRecord } from './snapshots.ts'

export interface BeginningParts {
  readonly state: HostPath
  /** How files can be carried over on this host. */
  readonly methodFor: (backend: string) => Promise<Method>
}

/** Its record, with the files in place. */
export async function beginning(
  parts: BeginningParts,
  record: MemberRecord,
  snapshotId: string | undefined,
): Promise<MemberRecord> {
  const snapshot = requireSnapshot(parts, record, snapshotId)
  if (snapshot === undefined) return record
  const { state } = parts
  const layers = [snapshot.id, ...snapshot.layers]
  const { by } = await parts.methodFor(record.backend)
  const into = memberPlace(state, record.id)
  const from = layersOf(state, layers)
  const { layout } = snapshot
  if (by === 'overlay' && layers.length <= mostLayers) {
    await copyInsides({ from, into, insides: ['home'], by: 'copy' })
    return { ...record, layout, layers }
  }
  await copyInsides({ from, into, layout, by: by === 'overlay' ? 'copy' : by })
  return { ...record, layout }
}

/**
 * NOT_FOUND where it is gone, or somebody has deleted it. Asked again when the member's record is on the disk: a sweep reads the records after
 * it has seen the mark of a deletion; so where there is no mark by then, it will find the member that stands on the snapshot, and what was
 * copied was all there.
 */
export function requireSnapshot(
  { state }: Pick<BeginningParts, 'state'>,
  { project }: Pick<MemberRecord, 'project'>,
  id: string | undefined,
): SnapshotRecord | undefined {
  if (id === undefined) return undefined
  const found = findSnapshot(state, id)
  if (found !== undefined && !found.is_deleted && found.project === project) return found
  throw new GloveboxError('NOT_FOUND', 'Cannot make the sandbox: there is no such snapshot', {
    facts: { what: 'snapshot' },
  })
}

// Snapshots: a member's files as they were, which other members begin with. By overlay nothing is copied: the files themselves become
// the snapshot, and the member goes on with an empty directory over them. Elsewhere they are copied, and the record says so. A snapshot
// that something stands on stays until nothing does, whoever deleted it. It knows directories and records, and no sandbox.
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { chance } from '../../contract/chance.ts'
import { forkMethods, type ForkMethod } from '../../contract/fork.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'
import { replaceFile, syncDirectory } from '../../runs/replace-file.ts'
import { namesIfThere, readIfThere } from '../../paths/if-there.ts'
import { removeTree, removeTreeAtOnce } from '../../paths/remove-tree.ts'
import { inPieces } from '../../pool/in-pieces.ts'
import { released } from '../../pool/refusals.ts'
import { copyInsides } from './copy.ts'
import { insides, layoutNames, type LayoutName } from './layout.ts'
import { memberPlace, snapshotsIn } from './place.ts'
import { replaceRecord, type MemberRecord } from './record.ts'

export type SnapshotId = `snap_${string}`
export const newSnapshotId = (): SnapshotId => `snap_${chance()}`
export const isSnapshotId = (text: string): text is SnapshotId => /^snap_[0-9a-f]{32}$/.test(text)

const snapshotSchema = z.strictObject({
  version: z.literal(1),
  id: z.custom<SnapshotId>((value) => typeof value === 'string' && isSnapshotId(value)),
  project: z.string(),
  name: z.string().nullable(),
  sandbox_id: z.string(),
  /** Who took it, and whose quota it counts for. Null: nobody's, as with one that was made before they were counted. */
  token_id: z.string().nullable().default(null),
  layout: z.enum(layoutNames),
  created_at: z.iso.datetime(),
  /** Of other snapshots that are seen through it, nearest first. */
  layers: z.array(z.string()),
  by: z.enum(forkMethods),
  /** Why nothing could be layered; null if it was. */
  why: z.string().nullable(),
  /** Nobody sees it any more; it is there for those that stand on it. */
  is_deleted: z.boolean(),
})
export type SnapshotRecord = z.infer<typeof snapshotSchema>

/** How files can be carried over here. */
export interface Method {
  readonly by: ForkMethod
  readonly why: string | null
}

export interface SnapshotRequest {
  /** Default: one of chance. Under one that is given an earlier try may have been cut off. */
  readonly id?: SnapshotId | undefined
  readonly member: MemberRecord
  readonly name: string | null
  /** Default: nobody's. */
  readonly tokenId?: string | undefined
  readonly method: Method
  /** Asked before it is published: somebody else may have the files by now, or have thrown them away, and what was copied is not all of them. */
  readonly isLost?: (() => boolean) | undefined
}

export const snapshotFile = 'snapshot.json'
/** The record as it will be when it is deleted: then it only gets its name, for which there is room on a full disk, too. */
const deletedFile = 'deleted.json'
export const stagePrefix = '.stage-'

export const snapshotPlace = (state: HostPath, id: string): HostPath => join(snapshotsIn(state), id) as HostPath
export const stagePlace = (state: HostPath, id: string): string => join(snapshotsIn(state), `${stagePrefix}${id}`)

/** Deeper stacks cost every look-up a little, and the kernel takes no more than a few hundred. */
export const mostLayers = 32

/** Nobody may use the member meanwhile; by overlay its boundary must be closed. */
export async function takeSnapshot(
  state: HostPath,
  { id = newSnapshotId(), member, name, tokenId, method, isLost = () => false }: SnapshotRequest,
): Promise<{ readonly snapshot: SnapshotRecord; readonly member: MemberRecord }> {
  const snapshot: SnapshotRecord = {
    version: 1,
    id,
    project: member.project,
    name,
    sandbox_id: member.id,
    token_id: tokenId ?? null,
    layout: member.layout,
    created_at: new Date().toISOString(),
    layers: method.by === 'overlay' ? member.layers : [],
    by: method.by,
    why: method.why,
    is_deleted: false,
  }
  const stage = stagePlace(state, snapshot.id)
  // Half a copy. What was moved there is not: a member that names its snapshot has its files back before it is opened.
  if (member.snapshotting !== id) await removeTree(stage)
  mkdirSync(stage, { recursive: true, mode: 0o700 })
  const directory = memberPlace(state, member.id)
  if (method.by === 'overlay') {
    const layered = await moveAside(state, { member, snapshot, stage, directory, isLost })
    return { snapshot, member: layered }
  }
  try {
    const layers = layersOf(state, member.layers)
    await copyInsides({ from: [directory, ...layers], into: stage, layout: member.layout, by: method.by })
    await publish(state, snapshot, isLost)
  } catch (error) {
    await removeTree(stage)
    throw error
  }
  return { snapshot, member }
}

interface Moving {
  readonly member: MemberRecord
  readonly snapshot: SnapshotRecord
  readonly stage: string
  readonly directory: string
  readonly isLost: () => boolean
}

/** The member's record names the snapshot before the first file moves, so that a crash in between can be made good. */
async function moveAside(
  state: HostPath,
  { member, snapshot, stage, directory, isLost }: Moving,
): Promise<MemberRecord> {
  await replaceRecord(directory, { ...member, snapshotting: snapshot.id })
  try {
    for (const inside of insides(member.layout)) {
      mkdirSync(dirname(join(stage, inside)), { recursive: true, mode: 0o755 })
      renameSync(join(directory, inside), join(stage, inside))
    }
    await copyHome(directory, stage)
    await publish(state, snapshot, isLost)
  } catch (error) {
    // Thrown away meanwhile: with it goes what was moved out of it.
    if (!existsSync(directory)) {
      await removeTree(stage)
      throw released()
    }
    await finishSnapshot(state, { ...member, snapshotting: snapshot.id })
    throw error
  }
  return finishSnapshot(state, { ...member, snapshotting: snapshot.id })
}

async function publish(state: HostPath, snapshot: SnapshotRecord, isLost: () => boolean): Promise<void> {
  if (isLost()) throw cutOff()
  const stage = stagePlace(state, snapshot.id)
  writeFileSync(join(stage, deletedFile), deletedText(snapshot), { mode: 0o600 })
  await replaceFile(join(stage, snapshotFile), textOf(snapshot), { mode: 0o600 })
  renameSync(stage, snapshotPlace(state, snapshot.id))
  await syncDirectory(snapshotsIn(state))
}

/** After a crash, or at the end: the snapshot is there and the member stands on it, or it is not and the member has its files back. */
export async function finishSnapshot(state: HostPath, member: MemberRecord): Promise<MemberRecord> {
  const { snapshotting, ...rest } = member
  if (snapshotting === null) return member
  const directory = memberPlace(state, member.id)
  const made = findSnapshot(state, snapshotting)
  if (made === undefined) putBack(stagePlace(state, snapshotting), directory, member.layout)
  else removeTreeAtOnce(join(directory, 'work'))
  const layers = made === undefined ? member.layers : [made.id, ...made.layers]
  const finished: MemberRecord = { ...rest, layers, snapshotting: null }
  await replaceRecord(directory, finished)
  return finished
}

function putBack(stage: string, directory: string, layout: LayoutName): void {
  for (const inside of insides(layout))
    if (existsSync(join(stage, inside))) renameSync(join(stage, inside), join(directory, inside))
  removeTreeAtOnce(stage)
}

/** A home that no mount holds is small and private; it is copied. */
async function copyHome(directory: string, into: string): Promise<void> {
  if (existsSync(join(directory, 'home'))) await copyInsides({ from: [directory], into, insides: ['home'], by: 'copy' })
}

export const layersOf = (state: HostPath, ids: readonly string[]): readonly HostPath[] =>
  ids.map((id) => {
    const place = snapshotPlace(state, id)
    if (statSync(place, { throwIfNoEntry: false }) !== undefined) return place
    throw new GloveboxError('RECORD_DAMAGED', 'Cannot open the sandbox: a snapshot that it stands on is gone', {
      hint: 'Put the directory of the snapshot back.',
      operatorDetail: place,
    })
  })

export function findSnapshot(state: HostPath, id: string): SnapshotRecord | undefined {
  if (!isSnapshotId(id)) return undefined
  try {
    const parsed = snapshotSchema.safeParse(
      JSON.parse(readFileSync(join(snapshotPlace(state, id), snapshotFile), 'utf8')),
    )
    return parsed.success ? parsed.data : undefined
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Deleted ones too, a piece at a time. */
export const listSnapshots = (state: HostPath): Promise<readonly SnapshotRecord[]> =>
  inPieces(namesIfThere(snapshotsIn(state)), (piece) => piece.flatMap((name) => findSnapshot(state, name) ?? []))

/** Nobody sees it any more. It goes when nothing stands on it. Nothing happens where it is gone already. */
export async function deleteSnapshot(state: HostPath, snapshot: SnapshotRecord): Promise<void> {
  const place = snapshotPlace(state, snapshot.id)
  const [record, prepared] = [join(place, snapshotFile), join(place, deletedFile)]
  try {
    // Nobody waited for the disk when it was written, and an earlier version made none.
    if (readIfThere(prepared) === deletedText(snapshot)) {
      renameSync(prepared, record)
      await syncDirectory(place)
    } else await replaceFile(record, deletedText(snapshot), { mode: 0o600 })
  } catch (error) {
    // Somebody else has deleted it at the same time, and it was swept between two steps of ours.
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

const deletedText = (snapshot: SnapshotRecord): string => textOf({ ...snapshot, is_deleted: true })

const textOf = (snapshot: SnapshotRecord): string => `${JSON.stringify(snapshot, null, 2)}\n`

const cutOff = (): GloveboxError =>
  new GloveboxError('SANDBOX_GONE', 'Cannot take the snapshot: the sandbox went away while its files were copied', {
    hint: 'Nothing was kept. If the sandbox is there again, ask once more.',
  })

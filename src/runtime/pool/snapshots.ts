// Snapshots: a member's files as they were, which other members begin with. By overlay nothing is copied: the files themselves become
// the snapshot, and the member goes on with an empty directory over them. Elsewhere they are copied, and the record says so. A snapshot
// that something stands on stays until nothing does, whoever deleted it. It knows directories and records, and no sandbox.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { chance } from '../../contract/chance.ts'
import { forkMethods, type ForkMethod } from '../../contract/fork.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'
import { replaceFile, syncDirectory } from '../../runs/replace-file.ts'
import { namesIfThere } from '../../paths/if-there.ts'
import { copyInsides } from './copy.ts'
import { insides, layoutNames, type LayoutName } from './layout.ts'
import { memberPlace, snapshotsIn } from './place.ts'
import { replaceRecord, type MemberRecord } from './record.ts'

export type SnapshotId = `snap_${string}`
export const isSnapshotId = (text: string): text is SnapshotId => /^snap_[0-9a-f]{32}$/.test(text)

const snapshotSchema = z.strictObject({
  version: z.literal(1),
  id: z.custom<SnapshotId>((value) => typeof value === 'string' && isSnapshotId(value)),
  project: z.string(),
  name: z.string().nullable(),
  sandbox_id: z.string(),
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
  readonly member: MemberRecord
  readonly name: string | null
  readonly method: Method
}

const snapshotFile = 'snapshot.json'
const stagePrefix = '.stage-'

export const snapshotPlace = (state: HostPath, id: string): HostPath => join(snapshotsIn(state), id) as HostPath
const stagePlace = (state: HostPath, id: string): string => join(snapshotsIn(state), `${stagePrefix}${id}`)

/** Deeper stacks cost every look-up a little, and the kernel takes no more than a few hundred. */
export const mostLayers = 32

/** Nobody may use the member meanwhile; by overlay its boundary must be closed. */
export async function takeSnapshot(
  state: HostPath,
  { member, name, method }: SnapshotRequest,
): Promise<{ readonly snapshot: SnapshotRecord; readonly member: MemberRecord }> {
  const snapshot: SnapshotRecord = {
    version: 1,
    id: `snap_${chance()}`,
    project: member.project,
    name,
    sandbox_id: member.id,
    layout: member.layout,
    created_at: new Date().toISOString(),
    layers: method.by === 'overlay' ? member.layers : [],
    by: method.by,
    why: method.why,
    is_deleted: false,
  }
  const stage = stagePlace(state, snapshot.id)
  mkdirSync(stage, { recursive: true, mode: 0o700 })
  const directory = memberPlace(state, member.id)
  if (method.by === 'overlay') {
    const layered = await moveAside(state, { member, snapshot, stage, directory })
    return { snapshot, member: layered }
  }
  try {
    const layers = layersOf(state, member.layers)
    await copyInsides({ from: [directory, ...layers], into: stage, layout: member.layout, by: method.by })
    await publish(state, snapshot)
  } catch (error) {
    rmSync(stage, { recursive: true, force: true })
    throw error
  }
  return { snapshot, member }
}

interface Moving {
  readonly member: MemberRecord
  readonly snapshot: SnapshotRecord
  readonly stage: string
  readonly directory: string
}

/** The member's record names the snapshot before the first file moves, so that a crash in between can be made good. */
async function moveAside(state: HostPath, { member, snapshot, stage, directory }: Moving): Promise<MemberRecord> {
  await replaceRecord(directory, { ...member, snapshotting: snapshot.id })
  try {
    for (const inside of insides(member.layout)) {
      mkdirSync(dirname(join(stage, inside)), { recursive: true, mode: 0o755 })
      renameSync(join(directory, inside), join(stage, inside))
    }
    await copyHome(directory, stage)
    await publish(state, snapshot)
  } catch (error) {
    await finishSnapshot(state, { ...member, snapshotting: snapshot.id })
    throw error
  }
  return finishSnapshot(state, { ...member, snapshotting: snapshot.id })
}

async function publish(state: HostPath, snapshot: SnapshotRecord): Promise<void> {
  const stage = stagePlace(state, snapshot.id)
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
  else rmSync(join(directory, 'work'), { recursive: true, force: true })
  const layers = made === undefined ? member.layers : [made.id, ...made.layers]
  const finished: MemberRecord = { ...rest, layers, snapshotting: null }
  await replaceRecord(directory, finished)
  return finished
}

function putBack(stage: string, directory: string, layout: LayoutName): void {
  for (const inside of insides(layout))
    if (existsSync(join(stage, inside))) renameSync(join(stage, inside), join(directory, inside))
  rmSync(stage, { recursive: true, force: true })
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

export const listSnapshots = (state: HostPath): readonly SnapshotRecord[] =>
  namesIfThere(snapshotsIn(state)).flatMap((name) => findSnapshot(state, name) ?? [])

/** Nobody sees it any more. It goes when nothing stands on it. */
export async function deleteSnapshot(state: HostPath, snapshot: SnapshotRecord): Promise<void> {
  const place = snapshotPlace(state, snapshot.id)
  await replaceFile(join(place, snapshotFile), textOf({ ...snapshot, is_deleted: true }), { mode: 0o600 })
}

/** Removes deleted snapshots on which none of these members stands. How many there were. */
export function sweepSnapshots(
  state: HostPath,
  members: readonly Pick<MemberRecord, 'layers' | 'snapshotting'>[],
): number {
  const all = listSnapshots(state)
  const kept = [...members, ...all.filter((each) => !each.is_deleted)].flatMap(({ layers }) => layers)
  const needed = new Set([...kept, ...members.map(({ snapshotting }) => snapshotting)])
  const gone = all.filter(({ id, is_deleted: isDeleted }) => isDeleted && !needed.has(id))
  for (const { id } of gone) {
    // Out of sight first: a crash must not leave half a snapshot under its name.
    const stage = stagePlace(state, `gone-${id}`)
    renameSync(snapshotPlace(state, id), stage)
    rmSync(stage, { recursive: true, force: true })
  }
  sweepStages(state, new Set(members.map(({ snapshotting }) => stagePrefix + String(snapshotting))))
  return gone.length
}

/** A copy takes its time, but not so long. */
const longestCopyMs = 6 * 60 * 60_000

/** What copies left that were cut off. */
function sweepStages(state: HostPath, needed: ReadonlySet<string>): void {
  for (const name of namesIfThere(snapshotsIn(state))) {
    if (!name.startsWith(stagePrefix) || needed.has(name)) continue
    const place = join(snapshotsIn(state), name)
    const seen = statSync(place, { throwIfNoEntry: false })
    if (seen !== undefined && Date.now() - seen.mtimeMs > longestCopyMs) rmSync(place, { recursive: true, force: true })
  }
}

const textOf = (snapshot: SnapshotRecord): string => `${JSON.stringify(snapshot, null, 2)}\n`

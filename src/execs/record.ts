// meta.json and the row, which say the same. The file is the truth: it is written and synced before the row is.
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, linkSync, openSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { execMetaSchema, policySnapshotSchema, type ExecMeta, type ExecRecord } from '../contract/exec-record.ts'
import type { ExecId } from '../contract/ids.ts'
import type { ExecRow } from '../contract/store.ts'
import { syncFile, writeAll } from '../paths/content.ts'
import { isErrno } from '../paths/refusal.ts'
import { artifactsPath, execPlace, mountsOf, recordPath, recordPlace, type ExecName } from './layout.ts'

/** What a caller may see. */
export function recordOf(row: ExecRow): ExecRecord {
  return {
    exec_id: row.exec_id,
    project_id: row.project_id,
    task_id: row.task_id,
    conversation_id: row.conversation_id,
    skill_id: row.skill_id,
    image: row.image,
    image_id: row.image_id,
    cmd: row.cmd,
    args: [...row.args],
    cwd: row.cwd,
    env_keys: [...row.env_keys],
    policy_snapshot: policySnapshotSchema.parse(row.policy_snapshot),
    status: row.status,
    exit_code: row.exit_code,
    error_reason: row.error_reason,
    created_at: row.created_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
    duration_ms: row.duration_ms,
    backend: row.backend,
    artifacts_path: row.artifacts_path,
    artifacts_dir: artifactsPath(row),
    stdout_path: recordPath(row, 'stdout.txt'),
    stderr_path: recordPath(row, 'stderr.txt'),
    stdout_truncated: row.stdout_truncated,
    stderr_truncated: row.stderr_truncated,
  }
}

export const metaOf = (root: string, row: ExecRow): ExecMeta => ({
  ...recordOf(row),
  layout: 1,
  image_asked: row.image_asked,
  boundary_id: row.boundary_id,
  mounts: mountsOf(root, row).map((mount) => ({ ...mount, host_path: relative(root, mount.host_path) })),
})

/** The one who was at work on an exec that had not ended is not known from its files. */
export const unknownOwner = 'unknown'

/** For an index that is made anew. What had not ended is for the next server to find again, or to call lost. */
export function rowFrom(meta: ExecMeta): ExecRow {
  const { layout: _layout, mounts: _mounts, artifacts_dir: _dir, stdout_path: _out, stderr_path: _err, ...own } = meta
  const isOpen = meta.status === 'QUEUED' || meta.status === 'RUNNING'
  return {
    ...own,
    // Records of an earlier version say no more than what was asked for, nor do those of execs that have not begun.
    image_asked: meta.image_id === null ? meta.image : meta.image_asked,
    exec_id: meta.exec_id as ExecId,
    status: isOpen ? 'RUNNING' : meta.status,
    owner: isOpen ? unknownOwner : null,
    fence: 1,
    cancel_requested_at: null,
  }
}

export interface WriteOptions {
  /** On the disk before the answer. Else it survives the end of the process, and not a power cut. */
  readonly sync: boolean
  /** The file is whole, and not yet under its name. */
  readonly beforeRename?: () => void
}

/** Whole or not at all; what was there before is replaced. */
export const writeRecord = (place: string, text: Iterable<string>, options: WriteOptions): Promise<void> =>
  publish(place, text, options, (temporary) => renameSync(temporary, place))

/** The first one. Where the exec has been claimed meanwhile, a later one is there, and stays. */
const writeFirst = (place: string, text: Iterable<string>, options: WriteOptions): Promise<void> =>
  publish(place, text, options, (temporary) => {
    try {
      linkSync(temporary, place)
    } catch (error) {
      // One that has ended meanwhile has swept what was half done.
      if (!isErrno(error, 'EEXIST') && !existsSync(place)) throw error
    }
    rmSync(temporary, { force: true })
  })

const temporaryName = /^\.[0-9a-f]{24}\.tmp$/

async function publish(
  place: string,
  text: Iterable<string>,
  { sync, beforeRename }: WriteOptions,
  name: (temporary: string) => void,
): Promise<void> {
  const temporary = join(dirname(place), `.${randomBytes(12).toString('hex')}.tmp`)
  const fd = openSync(temporary, 'wx', 0o644)
  try {
    for (const piece of text) await writeAll(fd, Buffer.from(piece))
    if (sync) await syncFile(fd)
    beforeRename?.()
    name(temporary)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/** What a server left that was killed while it wrote. */
export function sweepTemporaries(root: string, name: ExecName): void {
  const place = execPlace(root, name)
  if (!existsSync(place)) return
  for (const each of readdirSync(place)) if (temporaryName.test(each)) rmSync(join(place, each), { force: true })
}

const metaText = (root: string, row: ExecRow): readonly string[] => [`${JSON.stringify(metaOf(root, row), null, 2)}\n`]

export const writeMeta = (root: string, row: ExecRow, options: WriteOptions): Promise<void> =>
  writeRecord(recordPlace(root, row, 'meta.json'), metaText(root, row), options)

export const writeFirstMeta = (root: string, row: ExecRow, options: WriteOptions): Promise<void> =>
  writeFirst(recordPlace(root, row, 'meta.json'), metaText(root, row), options)

/** Undefined where there is none, or what is there is no record of this exec. */
export function readMeta(root: string, name: ExecName): ExecMeta | undefined {
  let text: string
  try {
    text = readFileSync(recordPlace(root, name, 'meta.json'), 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
  return parseMeta(text, name)
}

function parseMeta(text: string, name: ExecName): ExecMeta | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const parsed = execMetaSchema.safeParse(value)
  return parsed.success && parsed.data.exec_id === name.exec_id ? parsed.data : undefined
}

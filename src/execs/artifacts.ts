// What is shown of an exec's files: the server's records and what the guest left, under the names that are documented, though they
// lie apart. Where a guest's file has the name of a record, the record is what the name means.
import { createHash } from 'node:crypto'
import { closeSync, constants, openSync } from 'node:fs'
import {
  recordNames,
  type ExecArtifact,
  type ExecArtifacts,
  type ListedArtifact,
  type RecordName,
} from '../contract/exec-record.ts'
import type { GuestPath } from '../contract/mount.ts'
import { hasEnded, type ExecRow } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import { pieces } from '../paths/content.ts'
import { findInside, openRoot, reopen, statsOf, type Opened } from '../paths/descriptor.ts'
import { asRefusal, isErrno, refusal, type Question } from '../paths/refusal.ts'
import { artifactsPath, filesPlace, guestArtifacts, recordPlace, type ExecName } from './layout.ts'
import { readManifest } from './manifest-file.ts'
import { listNow } from './manifest.ts'
import { recordedArtifact } from './recorded-artifact.ts'

export type ArtifactOwner = 'server' | 'guest'

/** `hidden`: what the server put there for as long as the command runs. */
export async function listArtifacts(
  root: string,
  row: ExecRow,
  hidden: ReadonlySet<string> = new Set(),
): Promise<ExecArtifacts> {
  const manifest = hasEnded(row.status) ? await readManifest(root, row) : undefined
  const guests = manifest?.entries ?? (await listNow(root, row)).filter(({ path }) => !hidden.has(path))
  const records = await Promise.all(recordNames.map((name) => describeRecord(root, row, name)))
  return {
    exec_id: row.exec_id,
    artifacts_dir: artifactsPath(row),
    complete: manifest?.complete ?? false,
    entries: [...records.flat(), ...guests.map((entry: ExecArtifact): ListedArtifact => ({ ...entry, by: 'guest' }))],
  }
}

async function describeRecord(root: string, name: ExecName, file: RecordName): Promise<readonly ListedArtifact[]> {
  const fd = openRecord(root, name, file)
  if (fd === undefined) return []
  try {
    const hash = createHash('sha256')
    let size = 0
    for await (const piece of pieces(fd)) {
      hash.update(piece)
      size += piece.length
    }
    const mode = Number(statsOf(fd).mode & 0o7777n)
    const plain = { path: file, path_base64: null, kind: 'file', target: null, skipped: null } as const
    return [{ ...plain, size, sha256: hash.digest('hex'), mode, by: 'server' }]
  } finally {
    closeSync(fd)
  }
}

function openRecord(root: string, name: ExecName, file: RecordName): number | undefined {
  try {
    return openSync(recordPlace(root, name, file), constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

const isRecord = (path: string): path is RecordName => (recordNames as readonly string[]).includes(path)

export interface OpenedArtifact {
  /** Of a regular file; the caller closes it. */
  readonly fd: number
  readonly by: ArtifactOwner
  /** What the manifest says of a guest's file. Null: it leaves nothing out, and has no such one. Undefined: nothing was recorded yet. */
  readonly recorded: Pick<ExecArtifact, 'kind' | 'sha256'> | null | undefined
}

export async function openArtifact(
  root: string,
  row: ExecRow,
  path: string,
  by?: ArtifactOwner,
): Promise<OpenedArtifact> {
  if (by !== 'guest' && isRecord(path)) {
    const fd = openRecord(root, row, path)
    if (fd === undefined) throw new GloveboxError('NOT_FOUND', `Cannot read ${path}: it has not been written yet`)
    return { fd, by: 'server', recorded: undefined }
  }
  if (by === 'server')
    throw new GloveboxError('NOT_FOUND', 'Cannot read the record: the server writes none of that name')
  const fd = openGuestFile(filesPlace(root, row), path)
  try {
    const recorded = hasEnded(row.status) ? await recordedArtifact(root, row, path) : undefined
    return { fd, by: 'guest', recorded }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function openGuestFile(place: string, path: string): number {
  const names = path.split('/')
  if (path === '' || path.includes('\0') || names.some((each) => each === '' || each === '.' || each === '..'))
    throw new GloveboxError(
      'INVALID_PATH',
      'Cannot read the artifact: its path is empty, absolute, or has "..", "." or NUL in it',
      {
        hint: 'Write it as the list of artifacts has it.',
      },
    )
  const asked: Question = { verb: 'read', path: `${guestArtifacts}/${path}` as GuestPath }
  let at: Opened | undefined
  try {
    at = openRoot(place)
    for (const each of names) at = step(at, each, asked)
    return openRegular(at, asked)
  } catch (error) {
    throw asRefusal(error, asked)
  } finally {
    if (at !== undefined) closeSync(at.fd)
  }
}

// SECURITY: a link that the guest left would lead the server's own reading elsewhere.
// test/attacks/execs: "a link in the artifacts leads to no file of the host"
function step(from: Opened, name: string, asked: Question): Opened {
  if (from.stats.isSymbolicLink()) throw refusal('LINK_REFUSED', asked, 'it leads through a link')
  if (!from.stats.isDirectory()) throw refusal('NOT_A_DIRECTORY', asked, 'a part of the path is not a directory')
  const found = findInside(from.fd, name)
  if (found === undefined) throw refusal('NOT_FOUND', asked, 'nothing is there')
  closeSync(from.fd)
  return found
}

function openRegular({ fd, stats }: Opened, asked: Question): number {
  if (stats.isSymbolicLink()) throw refusal('LINK_REFUSED', asked, 'it is a link')
  if (stats.isDirectory()) throw refusal('IS_A_DIRECTORY', asked, 'it is a directory')
  if (!stats.isFile()) throw refusal('NOT_A_FILE', asked, 'it is not a regular file')
  return reopen(fd, constants.O_RDONLY)
}

// manifest.json: path, size and hash of what the guest left. Made after its end, when nobody writes any more.
import { createHash } from 'node:crypto'
import { closeSync, constants } from 'node:fs'
import type { ExecArtifact, ExecManifest } from '../contract/exec-record.ts'
import { pieces } from '../paths/content.ts'
import { linkInside, reopen, statsOf, type Opened } from '../paths/descriptor.ts'
import { kindOf } from '../paths/entries.ts'
import { isErrno } from '../paths/refusal.ts'
import { walkGuestTree, type Met } from './guest-tree.ts'
import { filesPlace, type ExecName } from './layout.ts'

export interface ManifestOptions {
  readonly root: string
  readonly name: ExecName
  readonly overLimit: boolean
  readonly now: () => Date
  /** After each of the entries. */
  readonly onHashed?: () => void
}

export async function makeManifest(options: ManifestOptions): Promise<ExecManifest> {
  const { root, name, overLimit, now, onHashed } = options
  const entries: ExecArtifact[] = []
  const gaps = await listTree(filesPlace(root, name), async (met) => {
    entries.push(await hashed(met))
    onHashed?.()
  })
  const isWhole = gaps.size === 0 && !overLimit && entries.every(({ skipped }) => skipped === null)
  return {
    exec_id: name.exec_id,
    recorded_at: now().toISOString(),
    complete: isWhole,
    over_limit: overLimit,
    total_bytes: entries.reduce((total, { kind, size }) => total + (kind === 'file' ? (size ?? 0) : 0), 0),
    entries,
  }
}

/** As it is now, without hashes: for an exec that has not ended, or whose manifest cannot be read. */
export async function listNow(root: string, name: ExecName): Promise<readonly ExecArtifact[]> {
  const entries: ExecArtifact[] = []
  await listTree(filesPlace(root, name), async (met) => void entries.push(plain(met)))
  return entries
}

async function listTree(place: string, take: (met: Met) => Promise<void>): Promise<ReadonlySet<string>> {
  const walk = walkGuestTree(place)
  for await (const met of walk.entries()) await take(met)
  return walk.gaps
}

function plain({ found, parent, name, path }: Met): ExecArtifact {
  const kind = kindOf(found.stats)
  const text = path.toString('utf8')
  // SECURITY: the text of a link is told, and nothing behind it is opened.
  // test/attacks/execs: "a link in the artifacts leads to no file of the host"
  const target = kind === 'symlink' ? (linkInside(parent.fd, name) ?? null) : null
  return {
    path: text,
    path_base64: Buffer.from(text).equals(path) ? null : path.toString('base64'),
    kind,
    size: kind === 'file' ? Number(found.stats.size) : target === null ? null : Buffer.byteLength(target),
    sha256: null,
    mode: Number(found.stats.mode & 0o7777n),
    target,
    skipped: null,
  }
}

async function hashed(met: Met): Promise<ExecArtifact> {
  const entry = plain(met)
  if (entry.kind !== 'file') return entry
  const fd = openReadable(met.found)
  if (fd === undefined) return { ...entry, skipped: 'unreadable' }
  try {
    const before = statsOf(fd)
    const hash = createHash('sha256')
    for await (const piece of pieces(fd)) hash.update(piece)
    const after = statsOf(fd)
    const isSame = before.size === after.size && before.mtimeNs === after.mtimeNs && before.ctimeNs === after.ctimeNs
    return isSame ? { ...entry, sha256: hash.digest('hex') } : { ...entry, skipped: 'changed_while_read' }
  } finally {
    closeSync(fd)
  }
}

function openReadable({ fd }: Opened): number | undefined {
  try {
    return reopen(fd, constants.O_RDONLY)
  } catch (error) {
    if (!isErrno(error) || isErrno(error, 'EMFILE', 'ENFILE')) throw error
    return undefined
  }
}

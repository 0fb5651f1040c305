// The artifact manifest: every entry below workspace/ and deliverables/, walked by descriptor, because the guest owns
// both trees and may swap any part of a path for a link at any time. Bounded by count, depth and bytes; what is left out
// is said. It promises that a hash is of the bytes of a regular file inside the tree, and of nothing else.
import { closeSync, constants, opendirSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Artifact, ArtifactLimits, ArtifactManifest } from '../contract/artifact.ts'
import { syncFile } from '../paths/content.ts'
import { linkInside, reopen, reopenDirectory, type Opened } from '../paths/descriptor.ts'
import { kindOf } from '../paths/entries.ts'
import { isErrno } from '../paths/refusal.ts'
import { openView, type DirectoryView, type Found } from './fork/merged-view.ts'
import { hashBuffers, hashFile } from './hash-file.ts'

export const defaultArtifactLimits: ArtifactLimits = {
  max_entries: 100_000,
  max_depth: 100,
  max_bytes: 16 * 1024 ** 3,
}

type StopReason = ArtifactManifest['stopped'][number]

export interface ArtifactOptions {
  /** Host paths of the two trees. */
  readonly workspace: string
  readonly deliverables: string
  /** Of a fork: what is seen through the workspace, nearest first. `gone` when it cannot be seen any more. */
  readonly under?: readonly string[] | 'gone' | undefined
  readonly runId: string
  readonly limits?: ArtifactLimits | undefined
  /** Sync what is listed, so that a manifest which outlives a power cut does not speak of files that did not. */
  readonly sync?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  readonly now?: (() => number) | undefined
}

/** Stands in the place of a manifest before one is made, or when there is no room for one. */
export function emptyManifest(runId: string, reason: StopReason, recordedAt: string | null): ArtifactManifest {
  return {
    run_id: runId,
    recorded_at: recordedAt,
    complete: false,
    stopped: [reason],
    limits: defaultArtifactLimits,
    totals: { entries: 0, files: 0, bytes: 0, hashed_bytes: 0 },
    entries: [],
  }
}

export async function artifactManifest(options: ArtifactOptions): Promise<ArtifactManifest> {
  const survey = new Survey(options)
  await survey.tree([options.deliverables], 'deliverables', 'deliverable')
  const { under = [] } = options
  await survey.tree(under === 'gone' ? [] : [options.workspace, ...under], 'workspace', 'workspace')
  return survey.manifest()
}

class Survey {
  readonly #options: ArtifactOptions
  readonly #limits: ArtifactLimits
  readonly #entries: Artifact[] = []
  readonly #stopped = new Set<StopReason>()
  readonly #buffers = hashBuffers()
  #role: Artifact['role'] = 'workspace'
  #bytes = 0
  #hashedBytes = 0
  #sinceTurn = 0

  constructor(options: ArtifactOptions) {
    this.#options = options
    this.#limits = options.limits ?? defaultArtifactLimits
  }

  async tree(layers: readonly string[], name: string, role: Artifact['role']): Promise<void> {
    this.#role = role
    const root = layers.length === 0 ? undefined : openOrUndefined(() => openView(layers))
    // The operator took it away. The run must be able to end all the same.
    if (root === undefined) return void this.#stopped.add('unreadable')
    try {
      await this.#directory(root, Buffer.from(name), 1)
    } finally {
      root.close()
    }
  }

  manifest(): ArtifactManifest {
    return {
      run_id: this.#options.runId,
      recorded_at: new Date(this.#options.now?.() ?? Date.now()).toISOString(),
      complete: this.#stopped.size === 0,
      stopped: [...this.#stopped].toSorted(),
      limits: this.#limits,
      totals: {
        entries: this.#entries.length,
        files: this.#entries.filter(({ kind }) => kind === 'file').length,
        bytes: this.#bytes,
        hashed_bytes: this.#hashedBytes,
      },
      entries: this.#entries,
    }
  }

  async #directory(directory: DirectoryView, path: Buffer, depth: number): Promise<void> {
    for (const name of await this.#names(directory)) {
      // A link, a directory and a file of one name are told apart on the descriptor, never by the name again.
      const found = this.#find(directory, name)
      if (found === undefined) continue
      try {
        await this.#entry(directory, found, Buffer.concat([path, Buffer.from('/'), name]), depth)
      } finally {
        closeSync(found.fd)
      }
    }
  }

  /** The guest may have left a directory that can be listed and not entered: the run must be able to end all the same. */
  #find(directory: DirectoryView, name: Buffer): Found | undefined {
    const found = openOrUndefined(() => directory.find(name) ?? 'gone')
    if (found === undefined) this.#stopped.add('unreadable')
    return found === 'gone' ? undefined : found
  }

  async #names({ parts }: DirectoryView): Promise<readonly Buffer[]> {
    const all: Buffer[] = []
    for (const { fd } of parts) for (const name of await this.#namesIn(fd)) all.push(name)
    if (parts.length === 1) return all
    const names = new Map(all.map((name) => [name.toString('latin1'), name]))
    return [...names.values()].toSorted((a, b) => Buffer.compare(a, b))
  }

  /** Sorted, and never more than may still be listed, however many there are. */
  async #namesIn(fd: number): Promise<readonly Buffer[]> {
    const readable = openOrUndefined(() => reopenDirectory(fd))
    if (readable === undefined) {
      this.#stopped.add('unreadable')
      return []
    }
    const names: Buffer[] = []
    try {
      // Node gives the bytes of names only when it is asked for buffers; the types do not know that of Dirent.
      const listing = opendirSync(`/proc/self/fd/${readable}`, { encoding: 'buffer' as BufferEncoding })
      try {
        for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
          if (this.#entries.length + names.length >= this.#limits.max_entries) {
            this.#stopped.add('entries')
            break
          }
          names.push(entry.name as unknown as Buffer)
        }
      } finally {
        listing.closeSync()
      }
      if (this.#mustSync) await syncFile(readable)
    } finally {
      closeSync(readable)
    }
    return names.toSorted((a, b) => Buffer.compare(a, b))
  }

  async #entry(parent: DirectoryView, found: Found, path: Buffer, depth: number): Promise<void> {
    if (this.#entries.length >= this.#limits.max_entries) return void this.#stopped.add('entries')
    await this.#breathe()
    const kind = kindOf(found.stats)
    const text = path.toString('utf8')
    const plain: Artifact = {
      path: text,
      path_base64: Buffer.from(text).equals(path) ? null : path.toString('base64'),
      kind,
      role: this.#role,
      size: null,
      sha256: null,
      mode: Number(found.stats.mode & 0o7777n),
      target: null,
      skipped: null,
    }
    if (kind === 'directory') return this.#enter(parent, found, plain, path, depth)
    if (kind === 'symlink') return this.#link(found, plain)
    if (kind === 'file') return this.#file(found, plain)
    this.#entries.push(plain)
  }

  async #enter(parent: DirectoryView, found: Found, plain: Artifact, path: Buffer, depth: number): Promise<void> {
    const tooDeep = depth >= this.#limits.max_depth
    this.#entries.push(tooDeep ? this.#skip(plain, 'depth') : plain)
    if (tooDeep) return
    const directory = parent.enter(found)
    try {
      await this.#directory(directory, path, depth + 1)
    } finally {
      directory.close()
    }
  }

  // SECURITY: the text of a link is recorded and nothing behind it is opened.
  // src/runs/artifacts: "a symlink is recorded as a link and never followed"
  #link({ within, name }: Found, plain: Artifact): void {
    const target = linkInside(within, name) ?? null
    this.#entries.push({ ...plain, target, size: target === null ? null : Buffer.byteLength(target) })
  }

  async #file(found: Opened, plain: Artifact): Promise<void> {
    const size = Number(found.stats.size)
    this.#bytes += size
    const sized = { ...plain, size }
    if (this.#hashedBytes + size > this.#limits.max_bytes) return void this.#entries.push(this.#skip(sized, 'bytes'))
    const fd = openOrUndefined(() => reopen(found.fd, constants.O_RDONLY))
    if (fd === undefined) return void this.#entries.push(this.#skip(sized, 'unreadable'))
    try {
      if (this.#mustSync) await syncFile(fd)
      const { sha256, bytes, changed } = await hashFile(fd, this.#buffers)
      this.#hashedBytes += bytes
      this.#entries.push(changed ? this.#skip(sized, 'changed_while_read') : { ...sized, sha256 })
    } finally {
      closeSync(fd)
    }
  }

  get #mustSync(): boolean {
    return this.#options.sync === true
  }

  #skip(entry: Artifact, reason: Exclude<Artifact['skipped'], null>): Artifact {
    this.#stopped.add(reason)
    return { ...entry, skipped: reason }
  }

  /** A large tree must not hold up whoever else lives in this process. */
  async #breathe(): Promise<void> {
    this.#options.signal?.throwIfAborted()
    if (++this.#sinceTurn % 64 === 0) await turn()
  }
}

/** Undefined when it is gone, the permissions of the host do not let us read it, or the disk does not give it. */
function openOrUndefined<Result>(open: () => Result): Result | undefined {
  try {
    return open()
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ENXIO', 'EAGAIN', 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

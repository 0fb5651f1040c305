// A file that a guest left and that was recorded, as it is served: hashed through the very descriptor that it is read from, compared
// with the record before a byte of it goes out, and watched while it does. It knows a descriptor and what was recorded, and not of what.
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, type BigIntStats } from 'node:fs'
import type { Artifact } from '../../contract/artifact.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { ServedBytes } from './answer.ts'
import type { ByteRange } from './ranges.ts'
import { readRange } from './read-range.ts'

export interface RecordedFile {
  /** Closed with what is served, and at once where it is refused. */
  readonly fd: number
  /** As the list of artifacts spells it. */
  readonly path: string
  /** Null: a record that leaves nothing out does not name it. Undefined, or without a hash: nothing was recorded of it that it could be held
   * against, and it is served as it is. Whoever must not serve that refuses it before. */
  readonly recorded: Pick<Artifact, 'kind' | 'sha256'> | null | undefined
  readonly hint: string
}

export interface RecordedFiles {
  serve(file: RecordedFile): Promise<ServedBytes>
}

export function openRecordedFiles(): RecordedFiles {
  const verify = rememberedVerification()
  return {
    async serve(file) {
      try {
        return await served(file, verify)
      } catch (error) {
        closeSync(file.fd)
        throw error
      }
    },
  }
}

type Verify = (file: RecordedFile, state: BigIntStats, sha256: string) => Promise<void>

async function served(file: RecordedFile, verify: Verify): Promise<ServedBytes> {
  const { fd, path, recorded } = file
  const state = stateOf(fd)
  // SECURITY: another name may be of a file of the host, which is then written through it.
  // test/e2e/server-downloads: "a file with a second name is refused, while its exec runs and when it has ended"
  if (state.nlink > 1n) throw severalNames(path)
  if (recorded === null || (recorded !== undefined && recorded.kind !== 'file')) throw changed(file)
  const sha256 = recorded?.sha256 ?? undefined
  if (sha256 !== undefined) await verify(file, state, sha256)
  return {
    sizeBytes: Number(state.size),
    tag: sha256 ?? `${state.ino.toString(36)}-${state.size.toString(36)}-${state.mtimeNs.toString(36)}`,
    name: path.split('/').at(-1) ?? path,
    read: (range) => (sha256 === undefined ? readRange(fd, range) : watched(file, state, range)),
    close: () => closeSync(fd),
  }
}

const mostRemembered = 1024
/** The kernel's clock for files stands still for some milliseconds: what was changed only now can be changed once more, and look the same. */
const settledMs = 2000n

/** A file that is fetched in parts is hashed once, and not for each of them. What stands for it is its state as the kernel tells it. */
function rememberedVerification(): Verify {
  const remembered = new Map<string, Promise<void>>()
  return async (file, state, sha256) => {
    const { dev, ino, size, mtimeNs, ctimeNs } = state
    if (BigInt(Date.now()) - ctimeNs / 1_000_000n < settledMs) return requireRecorded(file, state, sha256)
    const key = [dev, ino, size, mtimeNs, ctimeNs, sha256].join(' ')
    const known = remembered.get(key)
    if (known !== undefined) return known
    const verified = requireRecorded(file, state, sha256)
    remembered.set(key, verified)
    const [oldest] = remembered.keys()
    if (remembered.size > mostRemembered && oldest !== undefined) remembered.delete(oldest)
    try {
      await verified
    } catch (error) {
      remembered.delete(key)
      throw error
    }
  }
}

// SECURITY: what is served must be what was recorded, whatever the name leads to by now.
// test/e2e/server-downloads: "a file that was changed, replaced or added after the end of its exec is refused and not served"
async function requireRecorded(file: RecordedFile, state: BigIntStats, sha256: string): Promise<void> {
  const hash = createHash('sha256')
  const all = { start: 0, end: Number(state.size) - 1 }
  for await (const piece of readRange(file.fd, all)) hash.update(piece)
  if (hash.digest('hex') !== sha256 || !isSame(state, stateOf(file.fd))) throw changed(file)
}

/** The time of the last change is the kernel's, and nobody sets it: while it stands, what is read now is what was hashed. */
async function* watched(file: RecordedFile, state: BigIntStats, range: ByteRange): AsyncGenerator<Uint8Array> {
  for await (const piece of readRange(file.fd, range)) {
    if (!isSame(state, stateOf(file.fd))) throw changed(file)
    yield piece
  }
}

const stateOf = (fd: number): BigIntStats => fstatSync(fd, { bigint: true })

const isSame = (one: BigIntStats, other: BigIntStats): boolean =>
  one.size === other.size && one.mtimeNs === other.mtimeNs && one.ctimeNs === other.ctimeNs

const changed = ({ path, hint }: RecordedFile): GloveboxError =>
  new GloveboxError('ARTIFACT_CHANGED', `Cannot read ${path}: it is not what it was when it was recorded`, { hint })

const severalNames = (path: string): GloveboxError =>
  new GloveboxError('LINK_REFUSED', `Cannot read ${path}: the file has several names (hard links)`, {
    hint: 'Another name may lie elsewhere on the host. Have the command leave a copy.',
  })

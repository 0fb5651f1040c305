// Contents under their own hash, in archive/blobs/, where the guest cannot reach. A blob is written under another name and
// renamed, so that a name that can be seen has its bytes; after a power cut it may be missing or empty, and whoever reads it
// checks the hash.
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../../paths/refusal.ts'

/** What a blob costs beyond its bytes. Without it a guest could fill the disk's inodes with tiny files. */
const costOfOne = 512

const blobsIn = (directory: string): string => join(directory, 'archive', 'blobs')

export class Blobs {
  readonly #place: string
  readonly #known: Set<string>
  readonly #mayKeep: (bytes: Uint8Array) => boolean
  #bytesLeft: number

  constructor(directory: string, maxBytes: number, mayKeep: (bytes: Uint8Array) => boolean = () => true) {
    this.#mayKeep = mayKeep
    this.#place = blobsIn(directory)
    this.#bytesLeft = maxBytes
    this.#known = new Set(existing(this.#place))
  }

  /** False when it may not be kept, and when there is no room: neither in the limit nor on the disk. */
  keep(sha256: string, bytes: Uint8Array): boolean {
    if (this.#known.has(sha256)) return true
    const cost = bytes.length + costOfOne
    if (cost > this.#bytesLeft || !this.#mayKeep(bytes)) return false
    try {
      if (this.#known.size === 0) mkdirSync(this.#place, { recursive: true })
      this.#write(sha256, bytes)
    } catch (error) {
      if (isErrno(error, 'ENOSPC', 'EDQUOT')) return false
      throw error
    }
    this.#bytesLeft -= cost
    this.#known.add(sha256)
    return true
  }

  #write(sha256: string, bytes: Uint8Array): void {
    const temporary = join(this.#place, `.${randomBytes(12).toString('hex')}.tmp`)
    try {
      const fd = openSync(temporary, 'wx', 0o444)
      try {
        for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
      } finally {
        closeSync(fd)
      }
      renameSync(temporary, join(this.#place, sha256))
    } catch (error) {
      rmSync(temporary, { force: true })
      throw error
    }
  }
}

function existing(place: string): readonly string[] {
  try {
    return readdirSync(place).filter((name) => /^[0-9a-f]{64}$/.test(name))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

/** Undefined when it is not there, or is not what its name says. */
export function readBlob(directory: string, sha256: string): Buffer | undefined {
  try {
    const bytes = readFileSync(join(blobsIn(directory), sha256))
    return sha256Of(bytes) === sha256 ? bytes : undefined
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

export const sha256Of = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

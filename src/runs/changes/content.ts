// The content of one file, read through its descriptor: hashed, and kept if it is small. Never more is read than the file
// was long when it was opened, so that a writer cannot hold a look.
import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, read, readSync, type Stats } from 'node:fs'
import { promisify } from 'node:util'
import { reopen } from '../../paths/descriptor.ts'
import { isErrno } from '../../paths/refusal.ts'
import { sha256Of, type Blobs } from './blobs.ts'
import { sameStamp, stampOf, type Stamp } from './tree.ts'

const readAsync = promisify(read)
/** Up to here the way to another thread and back takes longer than the read. */
const atOnceBytes = 128 * 1024
const partBytes = 1024 * 1024

export interface Content {
  readonly sha256: string | null
  readonly kept: boolean
  readonly size: number
  readonly stamp: Stamp
  /** Why the hash is missing, or of no one state of the file. */
  readonly stop: 'bytes' | 'unreadable' | 'concurrent' | undefined
}

export interface ReadBudget {
  /** Of one file whose content is kept. */
  readonly maxFileBytes: number
  /** How many bytes may still be hashed in this look. */
  hashBytesLeft: number
}

/** `fd` is of O_PATH, and of a regular file. */
export async function contentOf(fd: number, stats: Stats, budget: ReadBudget, blobs: Blobs): Promise<Content> {
  const plain = { sha256: null, kept: false, size: stats.size, stamp: stampOf(stats) }
  if (stats.size > budget.hashBytesLeft) return { ...plain, stop: 'bytes' }
  const readable = openOrUndefined(fd)
  if (readable === undefined) return { ...plain, stop: 'unreadable' }
  try {
    budget.hashBytesLeft -= stats.size
    const { sha256, bytes, whole } = await hashed(readable, stats.size, budget.maxFileBytes)
    const isSame = bytes === stats.size && sameStamp(plain.stamp, stampOf(fstatSync(readable)))
    // Bytes of a file that was being written are some bytes that it had, and no state of it.
    if (!isSame) return { ...plain, stop: 'concurrent' }
    return { ...plain, sha256, kept: whole !== undefined && blobs.keep(sha256, whole), stop: undefined }
  } catch (error) {
    if (isErrno(error, 'EIO')) return { ...plain, stop: 'unreadable' }
    throw error
  } finally {
    closeSync(readable)
  }
}

interface Read {
  readonly sha256: string
  readonly bytes: number
  /** All of it, when it is small enough to be kept. */
  readonly whole: Buffer | undefined
}

async function hashed(fd: number, size: number, maxFileBytes: number): Promise<Read> {
  if (size > maxFileBytes) return hashedInParts(fd, size)
  const buffer = Buffer.allocUnsafe(size)
  let bytes = 0
  while (bytes < size) {
    const count =
      size <= atOnceBytes
        ? readSync(fd, buffer, bytes, size - bytes, bytes)
        : (await readAsync(fd, buffer, bytes, size - bytes, bytes)).bytesRead
    if (count === 0) break
    bytes += count
  }
  const whole = buffer.subarray(0, bytes)
  return { sha256: sha256Of(whole), bytes, whole }
}

async function hashedInParts(fd: number, size: number): Promise<Read> {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(partBytes)
  let bytes = 0
  while (bytes < size) {
    const { bytesRead } = await readAsync(fd, buffer, 0, Math.min(partBytes, size - bytes), bytes)
    if (bytesRead === 0) break
    hash.update(buffer.subarray(0, bytesRead))
    bytes += bytesRead
  }
  return { sha256: hash.digest('hex'), bytes, whole: undefined }
}

function openOrUndefined(fd: number): number | undefined {
  try {
    return reopen(fd, constants.O_RDONLY)
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ENXIO', 'EAGAIN', 'ENOENT', 'ETXTBSY')) return undefined
    throw error
  }
}

// The hash of an open file, of exactly the bytes behind the descriptor. Small files are read at once; of large ones the
// next part is read while the last is hashed, so that neither the disk nor the processor waits for the other.
import { createHash } from 'node:crypto'
import { fstatSync, read, readSync, type BigIntStats } from 'node:fs'
import { promisify } from 'node:util'

const readAsync = promisify(read)
const smallBytes = 128 * 1024
const partBytes = 1024 * 1024

export interface Hashed {
  readonly sha256: string
  readonly bytes: number
  /** The file was another when its end was reached: the hash is of no one state of it. */
  readonly changed: boolean
}

/** Scratch space, lent to one call at a time. */
export const hashBuffers = (): readonly [Buffer, Buffer] => [
  Buffer.allocUnsafeSlow(partBytes),
  Buffer.allocUnsafeSlow(partBytes),
]

export async function hashFile(fd: number, buffers: readonly [Buffer, Buffer]): Promise<Hashed> {
  const before = fstatSync(fd, { bigint: true })
  const { sha256, bytes } = before.size <= smallBytes ? hashSmall(fd, buffers[0]) : await hashLarge(fd, buffers)
  return { sha256, bytes, changed: hasChanged(before, fstatSync(fd, { bigint: true }), bytes) }
}

interface Sum {
  readonly sha256: string
  readonly bytes: number
}

function hashSmall(fd: number, buffer: Buffer): Sum {
  const hash = createHash('sha256')
  let bytes = 0
  // A file that grows as fast as it is read must not hold the thread: what goes beyond counts as changed.
  while (bytes <= smallBytes) {
    const count = readSync(fd, buffer, 0, buffer.length, bytes)
    if (count === 0) break
    hash.update(buffer.subarray(0, count))
    bytes += count
  }
  return { sha256: hash.digest('hex'), bytes }
}

async function hashLarge(fd: number, [first, second]: readonly [Buffer, Buffer]): Promise<Sum> {
  const hash = createHash('sha256')
  let [reading, free, bytes] = [first, second, 0]
  let coming = readAsync(fd, reading, 0, partBytes, 0)
  for (;;) {
    const { bytesRead } = await coming
    if (bytesRead === 0) return { sha256: hash.digest('hex'), bytes }
    bytes += bytesRead
    coming = readAsync(fd, free, 0, partBytes, bytes)
    hash.update(reading.subarray(0, bytesRead))
    ;[reading, free] = [free, reading]
  }
}

const hasChanged = (before: BigIntStats, after: BigIntStats, bytes: number): boolean =>
  before.size !== BigInt(bytes) ||
  before.size !== after.size ||
  before.mtimeNs !== after.mtimeNs ||
  before.ctimeNs !== after.ctimeNs

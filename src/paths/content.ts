// Bulk bytes through an open descriptor, off the main thread. A descriptor keeps its file whatever
// happens to the name, so these need no path at all.
import { fdatasync, fsync, read, write } from 'node:fs'
import { promisify } from 'node:util'
import { GloveboxError } from '../errors/error.ts'

const readAsync = promisify(read)
const writeAsync = promisify(write)
export const syncFile = promisify(fsync)
export const syncData = promisify(fdatasync)

const chunkBytes = 1024 * 1024

/** Up to `limit` bytes from `offset`, however much the file grows meanwhile. */
export async function readUpTo(fd: number, span: { offset: number; limit: number; expected: number }): Promise<Buffer> {
  const chunks: Buffer[] = []
  let total = 0
  while (total < span.limit) {
    // The expected end plus one byte finds the end of the file without a second large buffer.
    const ahead = Math.max(span.expected - span.offset - total, 0) + 1
    const chunk = Buffer.allocUnsafeSlow(Math.min(span.limit - total, Math.max(ahead, 4096), chunkBytes))
    const { bytesRead } = await readAsync(fd, chunk, 0, chunk.length, span.offset + total)
    if (bytesRead === 0) break
    chunks.push(chunk.subarray(0, bytesRead))
    total += bytesRead
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, total)
}

/** `onWritten` hears of every part, so that a failed append knows how much to take back. */
export async function writeAll(fd: number, bytes: Uint8Array, onWritten?: (count: number) => void): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await writeAsync(fd, bytes, done, Math.min(bytes.length - done, chunkBytes), null)
    if (bytesWritten === 0) throw new GloveboxError('NO_SPACE', 'Cannot write: the file takes no more bytes')
    done += bytesWritten
    onWritten?.(bytesWritten)
  }
}

/** Every byte of a file, in pieces. */
export async function* pieces(fd: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes)
  let offset = 0
  for (;;) {
    const { bytesRead } = await readAsync(fd, buffer, 0, buffer.length, offset)
    if (bytesRead === 0) return
    offset += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

// The bytes of a range of an open file, in pieces. A file that is shorter by now cannot keep the length that was promised, and the
// reader must see that.
import { read } from 'node:fs'
import { promisify } from 'node:util'
import { GloveboxError } from '../../errors/error.ts'
import type { ByteRange } from './ranges.ts'

const readAsync = promisify(read)
const pieceBytes = 256 * 1024

export async function* readRange(fd: number, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  for (let at = start; at <= end;) {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, end + 1 - at))
    const { bytesRead } = await readAsync(fd, piece, 0, piece.length, at)
    if (bytesRead === 0) throw new GloveboxError('CONFLICT', 'Cannot read further: the file became shorter')
    at += bytesRead
    yield piece.subarray(0, bytesRead)
  }
}

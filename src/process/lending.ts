// Chunks that are lent. A reader that makes a buffer for every chunk leaves 64 KiB of garbage behind each time, and a collector that
// takes its time lets a hundred MiB of it lie while a flood goes by. So all pipes are read into one buffer, and a chunk is good only
// until its taker returns. Whoever reads such a stream in the ordinary way gets copies, which are his to keep.
import type { Readable } from 'node:stream'

/** False: no more until the stream is resumed. */
export type TakeLent = (chunk: Uint8Array) => boolean

/** Takers by stream; of a stream that is here without one, copies are made. */
const takers = new WeakMap<Readable, TakeLent | undefined>()

/** Everything that comes in this stream will be handed on by `handOn`. */
export const makeLender = (stream: Readable): void => void takers.set(stream, undefined)

/** From now on chunks are lent where nothing waits before them. The others, and all of a stream that lends nothing, come as `data`. */
export function borrow(stream: Readable, take: TakeLent): void {
  if (takers.has(stream)) takers.set(stream, take)
}

/** For the source of a stream, in the place of `push`. False: no more for now. */
export function handOn(stream: Readable, chunk: Uint8Array): boolean {
  const take = takers.get(stream)
  // What waits in the stream comes first; and what comes while it is paused waits.
  if (take === undefined || stream.readableFlowing !== true || stream.readableLength > 0)
    return stream.push(Buffer.from(chunk))
  return take(chunk)
}

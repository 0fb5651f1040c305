// Takes a stream to its end, chunk by chunk, the next not before the one before has been dealt with.
import type { Readable } from 'node:stream'
import { borrow } from './lending.ts'

/** A chunk that is lent is used again when this returns, not when its promise settles. It must neither throw nor reject. */
export type Take = (chunk: Uint8Array, isLent: boolean) => void | Promise<void>

/** Settles when all that came has been dealt with, also where the stream broke off. */
export function takeAll(stream: Readable, take: Take): Promise<void> {
  return new Promise((resolve) => {
    let pending: Promise<void> | undefined
    const onChunk = (chunk: Uint8Array, isLent: boolean): boolean => {
      const dealing = take(chunk, isLent)
      if (dealing === undefined) return true
      stream.pause()
      pending = dealing.then(() => {
        pending = undefined
        stream.resume()
      })
      return false
    }
    const settle = (): void => {
      if (pending === undefined) resolve()
      else void pending.then(settle)
    }
    // A pipe that breaks while its process is killed is no fault of its own: what arrived has been kept.
    stream.once('error', settle).once('end', settle).once('close', settle)
    if (stream.readableEnded || stream.destroyed) return settle()
    borrow(stream, (chunk) => onChunk(chunk, true))
    stream.on('data', (chunk: Uint8Array) => void onChunk(chunk, false))
  })
}

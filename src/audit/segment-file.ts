// The segment that is written to, held open for a turn: one descriptor sees every fault of what went through it. Writing and
// waiting for the disk are two things here, so that what was written can be acted on while the disk is still at work.
import { closeSync } from 'node:fs'
import { openEnd, syncData, writeAt, type Written } from './files.ts'

export interface SegmentFile {
  /** At its end, which the caller knows to be `at`. */
  write(at: number, bytes: Uint8Array): Written
  /** One after another: what was written before the call is on the disk when it resolves. */
  sync(): Promise<void>
  /** Behind every sync that was asked for. */
  close(): void
}

export function openSegmentFile(path: string): SegmentFile {
  const descriptor = openEnd(path)
  let last: Promise<void> = Promise.resolve()
  return {
    write: (at, bytes) => writeAt(descriptor, at, bytes),
    sync: () => (last = last.then(() => syncData(descriptor))),
    close: () => {
      const close = (): void => closeSync(descriptor)
      last.then(close, close)
    },
  }
}

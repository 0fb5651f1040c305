// What a reader gets of an exec: its states and its output as they come, from any place on. It is read from the files and
// not handed over by whoever writes them: a reader that is slow, or gone for a while, holds nobody up and misses nothing.
import { closeSync, constants, fstatSync, openSync, read } from 'node:fs'
import { promisify } from 'node:util'
import type { ExecEvent } from '../contract/exec-record.ts'
import { hasEnded, type ExecRow } from '../contract/store.ts'
import { isErrno } from '../paths/refusal.ts'
import { formatCursor, isOver, lastState, noneOfItsIds, type Cursor } from './cursor.ts'
import { recordPlace } from './layout.ts'
import { recordOf } from './record.ts'
import type { Watch } from './watchers.ts'

const readAsync = promisify(read)
/** A reader that takes nothing holds one or two of them, and there may be many such readers. */
const pieceBytes = 16 * 1024
/** How often an exec is looked at of which no news come: another server may be at work on it. */
const lookAgainMs = 500

export interface StreamedEvent {
  readonly id: string
  readonly event: ExecEvent
}

export interface StreamParts {
  readonly root: string
  find(): Promise<ExecRow | undefined>
  readonly watch: Watch
  readonly signal: AbortSignal
  /** The server is about to stop: what is there is still told. */
  isStopping(): boolean
}

/**
 * An id that the stream cannot have given: behind what was kept, or of an end that has not come. After a power cut one that was given
 * may be such a one, and its reader must not believe that it has read what is there now.
 */
export function refuseBeyond(root: string, row: ExecRow, from: Cursor): void {
  const isBeyond = (['stdout', 'stderr'] as const).some(
    (stream) => from[stream] > sizeOf(recordPlace(root, row, `${stream}.txt`)),
  )
  if (isBeyond || (isOver(from) && !hasEnded(row.status))) throw noneOfItsIds()
}

export async function* streamExec(parts: StreamParts, from: Cursor): AsyncGenerator<StreamedEvent> {
  let at = from
  const moved = (change: Partial<Cursor>): string => {
    at = { ...at, ...change }
    return formatCursor(at)
  }
  while (!isOver(at) && !parts.signal.aborted) {
    // The row first: if it says that the exec has ended, the files are whole.
    const row = await parts.find()
    if (row === undefined) return
    for (let told = at.told + 1; told <= lastState(row); told++)
      yield { id: moved({ told }), event: { type: 'state', status: told === 1 ? 'QUEUED' : 'RUNNING' } }
    for (const stream of ['stdout', 'stderr'] as const) {
      for await (const piece of newPieces(
        recordPlace(parts.root, row, `${stream}.txt`),
        at[stream],
        hasEnded(row.status),
      )) {
        const offset = at[stream]
        yield { id: moved({ [stream]: offset + piece.length }), event: outputEvent(stream, offset, piece) }
        if (parts.signal.aborted) return
      }
    }
    if (hasEnded(row.status)) {
      yield { id: moved({ told: 3 }), event: { type: 'end', exec: recordOf(row) } }
      return
    }
    if (parts.isStopping()) return
    await parts.watch.next(lookAgainMs, parts.signal)
  }
}

/** What is in the file from `offset` on. A character whose end is still to come is left for the next time. */
async function* newPieces(path: string, offset: number, isWhole: boolean): AsyncGenerator<Buffer> {
  const fd = openIfThere(path)
  if (fd === undefined) return
  try {
    for (let at = offset; ;) {
      const buffer = Buffer.allocUnsafe(pieceBytes)
      const { bytesRead } = await readAsync(fd, buffer, 0, pieceBytes, at)
      const piece = wholeCharacters(buffer.subarray(0, bytesRead), isWhole && bytesRead < pieceBytes)
      if (piece.length === 0) return
      at += piece.length
      yield piece
    }
  } finally {
    closeSync(fd)
  }
}

/** Of the open file: a directory that servers share may tell an old one. */
function sizeOf(path: string): number {
  const fd = openIfThere(path)
  if (fd === undefined) return 0
  try {
    return fstatSync(fd).size
  } finally {
    closeSync(fd)
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

/** Without the beginning of a UTF-8 character at the end, of which there are at most three bytes. */
export function wholeCharacters(bytes: Buffer, isLast: boolean): Buffer {
  if (isLast) return bytes
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const length = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function outputEvent(type: 'stdout' | 'stderr', offset: number, piece: Buffer): ExecEvent {
  const about = { type, offset, bytes: piece.length }
  const base64 = (): ExecEvent => ({ ...about, encoding: 'base64', data: piece.toString('base64') })
  // No text has it, and JSON makes six bytes of each.
  if (piece.includes(0)) return base64()
  try {
    return { ...about, encoding: 'utf8', data: strict.decode(piece) }
  } catch {
    return base64()
  }
}

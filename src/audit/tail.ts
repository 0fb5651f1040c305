// The writer's own reading: from a place it can trust on to the end. It finds what other processes added, the intents that
// have no end yet, and bytes at the end that were never answered. Damage to anything else is refused, never mended.
import { existsSync } from 'node:fs'
import { readFrom, segmentPath, type AuditPlace } from './files.ts'
import { beforeFirst, looksLikeRecord, unseal, type AuditRecord, type Link } from './record.ts'
import { unavailable } from './refusal.ts'

export interface Position extends Link {
  readonly segment: number
  /** Size of the segment up to and with the last record. */
  readonly bytes: number
}

export const start: Position = { ...beforeFirst, segment: 0, bytes: 0 }

export interface Seen {
  readonly record: AuditRecord
  readonly segment: number
  readonly offset: number
}

export interface Tail {
  readonly position: Position
  readonly records: readonly Seen[]
  /** Bytes behind the position that no answer ever spoke of. */
  readonly torn: Buffer | undefined
}

/** A segment and the batch that overshot it; more than that no writer leaves. */
const mostBytes = 256 * 1024 * 1024

export function readTail(place: AuditPlace, from: Position): Tail {
  const records: Seen[] = []
  let position = from
  let torn: Buffer | undefined
  for (;;) {
    if (position.segment > 0) ({ position, torn } = readSegment(place, position, records))
    const next = position.segment + 1
    if (!existsSync(segmentPath(place, next))) return { position, records, torn }
    if (torn !== undefined) throw damaged(place, position)
    position = { ...position, segment: next, bytes: 0 }
  }
}

/** From its first record, which is believed to be what it says: who knows the last hash can tell whether it was. */
export function readWholeSegment(place: AuditPlace, segment: number): Position {
  const nothing: Position = { ...start, segment }
  const bytes = readFrom(segmentPath(place, segment), 0, mostBytes)
  const first = unseal(bytes.subarray(0, Math.max(0, bytes.indexOf(0x0a))))
  if (first === undefined) throw damaged(place, nothing)
  return readSegment(place, { ...nothing, seq: first.seq - 1, hash: first.prev }, []).position
}

function readSegment(place: AuditPlace, from: Position, records: Seen[]): Pick<Tail, 'position' | 'torn'> {
  const bytes = readFrom(segmentPath(place, from.segment), from.bytes, mostBytes)
  let position = from
  let start = 0
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    const record = unseal(bytes.subarray(start, end))
    if (record === undefined || record.seq !== position.seq + 1 || record.prev !== position.hash) break
    records.push({ record, segment: from.segment, offset: from.bytes + start })
    start = end + 1
    position = { segment: from.segment, bytes: from.bytes + start, seq: record.seq, hash: record.hash }
  }
  const rest = bytes.subarray(start)
  if (position.bytes === 0) throw damaged(place, position)
  if (rest.length === 0) return { position, torn: undefined }
  if (!isTorn(rest, position.seq + 1)) throw damaged(place, position)
  return { position, torn: rest }
}

/**
 * A killed writer leaves a short line; a power cut may also leave zeros or garbage of full length, in any part of the last
 * batch. Nothing of that batch was answered. But a whole record with a wrong link, or a later one that was written after
 * this place was known to be on disk, means that something answered was changed.
 */
function isTorn(rest: Buffer, expected: number): boolean {
  const lines = wholeLines(rest)
  const [first] = lines
  if (first !== undefined && looksLikeRecord(first)) return false
  return !lines.some((line) => durableIn(line) >= expected)
}

/** A line break among what was lost joins the bytes before a record to it. */
function durableIn(line: Buffer): number {
  for (let at = line.indexOf('{"seq":'); at >= 0; at = line.indexOf('{"seq":', at + 1)) {
    const record = unseal(line.subarray(at))
    if (record !== undefined) return record.durable
  }
  return -1
}

function wholeLines(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end))
    start = end + 1
  }
  return lines
}

export const damaged = (place: AuditPlace, position: Position): Error =>
  unavailable(
    'it is damaged, and damage is never mended by guessing',
    `${segmentPath(place, position.segment)}, byte ${position.bytes}, behind record ${position.seq}`,
  )

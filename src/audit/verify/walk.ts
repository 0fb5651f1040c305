// Walks the records of all segments in order and stops at the first that does not follow from the one before.
import type { SignedHead } from './heads.ts'
import { readRecord, type ReadRecord } from './read-record.ts'
import { linesOf, type Line, type LogSource } from './source.ts'
import type { Finding } from './verdicts.ts'

export interface Expectations {
  readonly heads: readonly SignedHead[]
  readonly lastSigned: number
  /** Of the key that every segment must name. */
  readonly fingerprint: string | undefined
}

export interface Walked {
  readonly last: { readonly seq: number; readonly hash: string }
  readonly segments: number
  readonly bytes: number
  readonly openIntents: number
  readonly unknownOutcomes: number
  readonly findings: readonly Finding[]
}

const segmentForm = /^segment-(\d{6,})\.jsonl$/
const beforeFirst = '0'.repeat(64)

interface Here {
  readonly segment: number
  readonly file: string
  readonly line: number
  readonly offset: number
}

export function walk(source: LogSource, expected: Expectations): Walked {
  const files = segmentsOf(source.names())
  const findings: Finding[] = []
  const open = new Set<number>()
  const signed = hashesBySeq(expected.heads)
  let last = { seq: 0, hash: beforeFirst }
  let [segments, bytes, unknownOutcomes] = [0, 0, 0]
  let stopped = false

  /** Undefined: it follows. */
  const place = (line: Line, here: Here, isLastFile: boolean): Finding | 'perhaps torn' | undefined => {
    const seq = last.seq + 1
    const found = (verdict: Finding['verdict'], what: string): Finding => ({ verdict, what, ...here, seq })
    const reading = readRecord(line)
    if (reading.kind === 'changed') return found('broken', 'a record was changed: its hash is not that of its bytes')
    if (reading.kind !== 'true') {
      if (isLastFile && seq > expected.lastSigned) return 'perhaps torn'
      if (isLastFile && reading.kind === 'short') return found('truncated', 'a signed record was cut short')
      return found('broken', 'a line is no record')
    }
    const { record } = reading
    if (record.seq < seq) return found('forked', `record ${record.seq} is there a second time`)
    if (record.seq > seq) return found('broken', `record ${seq} is missing: ${record.seq} comes next`)
    if (record.prev !== last.hash)
      return here.line === 1
        ? found('forked', 'the segment does not follow from the one before')
        : found('broken', 'the record does not follow from the one before')
    take(record, here)
    return undefined
  }

  const take = (record: ReadRecord, here: Here): void => {
    last = { seq: record.seq, hash: record.hash }
    if (record.outcome === 'intent') open.add(record.seq)
    else if (record.intent !== null) open.delete(record.intent)
    if (record.outcome === 'unknown') unknownOutcomes += 1
    if (signed.get(record.seq)?.some((hash) => hash !== record.hash) === true)
      findings.push({
        verdict: 'forked',
        what: 'a signed head names another record of this number',
        ...here,
        seq: record.seq,
      })
    if (
      record.action === 'audit.segment' &&
      expected.fingerprint !== undefined &&
      keyIn(record) !== expected.fingerprint
    )
      findings.push({
        verdict: 'bad-signature',
        what: 'the segment was begun with another key',
        ...here,
        seq: record.seq,
      })
  }

  const walkFile = (file: string, segment: number, isLastFile: boolean): void => {
    const lines = linesOf(counted(source.chunks(file)))
    let number = 0
    for (const line of lines) {
      number += 1
      const here = { segment, file, line: number, offset: line.offset }
      const outcome = place(line, here, isLastFile)
      if (outcome === undefined) continue
      findings.push(outcome === 'perhaps torn' ? tornOrBroken(line, lines, here, last.seq + 1) : outcome)
      stopped = true
      return
    }
    if (number > 0) return
    // A segment appears with its first record in it, so an empty one was emptied. If a head tells so, it was cut off.
    stopped = true
    if (!isLastFile || last.seq >= expected.lastSigned)
      findings.push({
        verdict: 'broken',
        what: 'the segment is empty',
        segment,
        file,
        line: 1,
        offset: 0,
        seq: last.seq + 1,
      })
  }

  function* counted(chunks: Iterable<Buffer>): Generator<Buffer> {
    for (const chunk of chunks) {
      bytes += chunk.length
      yield chunk
    }
  }

  for (const [index, { file, segment }] of files.entries()) {
    if (segment !== index + 1) {
      findings.push({ verdict: 'broken', what: `segment ${index + 1} is missing`, file, segment, seq: last.seq + 1 })
      stopped = true
    }
    if (stopped) break
    segments += 1
    walkFile(file, segment, index === files.length - 1)
  }
  if (
    last.seq < expected.lastSigned &&
    !findings.some(({ verdict }) => verdict !== 'torn-tail' && verdict !== 'bad-signature')
  ) {
    const what = `a signed head names record ${expected.lastSigned}, but the log ends with ${last.seq}`
    findings.push({ verdict: 'truncated', what, seq: last.seq + 1 })
  }
  return { last, segments, bytes, openIntents: open.size, unknownOutcomes, findings }
}

/**
 * Only what was never answered may be called torn. A record further on that was written when this place was already known
 * to be on disk proves that it was answered, and so that it was changed afterwards.
 */
function tornOrBroken(first: Line, rest: Iterable<Line>, here: Here, seq: number): Finding {
  for (const line of chained(first, rest)) {
    if (line.isWhole && durableIn(line) >= seq)
      return {
        verdict: 'broken',
        what: 'a line is no record, but was one when later records were written',
        ...here,
        seq,
      }
  }
  return { verdict: 'torn-tail', what: 'the end of the log was cut short while it was written', ...here, seq }
}

function* chained(first: Line, rest: Iterable<Line>): Generator<Line> {
  yield first
  yield* rest
}

/** What was lost may have held a line break, so a record may stand at the end of a line that begins with something else. */
function durableIn(line: Line): number {
  const begin = '{"seq":'
  for (let at = line.bytes.indexOf(begin); at >= 0; at = line.bytes.indexOf(begin, at + 1)) {
    const reading = readRecord({ ...line, bytes: line.bytes.subarray(at) })
    if (reading.kind === 'true') return reading.record.durable
  }
  return -1
}

function segmentsOf(names: readonly string[]): readonly { readonly file: string; readonly segment: number }[] {
  const found = names.flatMap((file) => {
    const [, digits] = segmentForm.exec(file) ?? []
    return digits === undefined ? [] : [{ file, segment: Number(digits) }]
  })
  return found.toSorted((a, b) => a.segment - b.segment)
}

function hashesBySeq(heads: readonly SignedHead[]): ReadonlyMap<number, readonly string[]> {
  const hashes = new Map<number, string[]>()
  for (const { seq, hash } of heads) hashes.set(seq, [...(hashes.get(seq) ?? []), hash])
  return hashes
}

function keyIn({ data }: ReadRecord): unknown {
  return typeof data === 'object' && data !== null && 'key' in data ? data.key : undefined
}

// Which part of a file's bytes a reader sees: a range of lines or the last ones, cut to a number of bytes.
import type { GuestPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { countLines, sliceLines, tailStart } from './lines.ts'
import { wholeCharactersEnd, wholeCharactersStart } from './strict.ts'

export interface View {
  readonly start: number
  readonly end: number
  /** Absent in a tail of a file whose beginning was not read. */
  readonly startLine?: number
  readonly endLine?: number
  readonly truncated: boolean
}

export interface RangeRequest {
  readonly path: GuestPath
  readonly startLine: number
  readonly endLine: number | undefined
  readonly maxBytes: number
  /** Does the file go on after the bytes at hand? */
  readonly more: boolean
}

export function viewRange(bytes: Uint8Array, request: RangeRequest): View {
  const { path, startLine, endLine = Number.POSITIVE_INFINITY, maxBytes, more } = request
  const slice = sliceLines(bytes, startLine, endLine)
  if (slice === undefined) throw more ? tooFar(path, startLine, bytes.length) : beyondEnd(path, startLine, bytes)
  const cut = slice.end - slice.start > maxBytes
  const unfinished = more && !slice.complete
  if (!cut && !unfinished) {
    return { start: slice.start, end: slice.end, startLine, endLine: slice.lastLine, truncated: false }
  }
  const end = wholeCharactersEnd(bytes, Math.min(slice.end, slice.start + maxBytes))
  const shown = countLines(bytes.subarray(slice.start, end))
  return { start: slice.start, end, startLine, endLine: startLine + shown - 1, truncated: true }
}

export interface TailRequest {
  readonly lines: number
  readonly maxBytes: number
  /** Do the bytes at hand begin where the file begins? */
  readonly fromBeginning: boolean
}

export function viewTail(bytes: Uint8Array, { lines, maxBytes, fromBeginning }: TailRequest): View {
  const wanted = tailStart(bytes, lines)
  const start = Math.max(wanted ?? 0, bytes.length - maxBytes)
  const truncated = start > (wanted ?? 0) || (wanted === undefined && !fromBeginning)
  const whole = truncated ? wholeCharactersStart(bytes, start) : start
  if (!fromBeginning) return { start: whole, end: bytes.length, truncated }
  const endLine = countLines(bytes)
  const startLine = endLine - countLines(bytes.subarray(whole)) + 1
  return { start: whole, end: bytes.length, startLine, endLine, truncated }
}

function beyondEnd(path: GuestPath, startLine: number, bytes: Uint8Array): GloveboxError {
  const totalLines = countLines(bytes)
  return new GloveboxError('INVALID_INPUT', `Cannot read ${path} from line ${startLine}: it has ${totalLines} lines`, {
    facts: { totalLines },
  })
}

const tooFar = (path: GuestPath, startLine: number, scanned: number): GloveboxError =>
  new GloveboxError(
    'TOO_LARGE',
    `Cannot read ${path} from line ${startLine}: the line begins after the first ${scanned} bytes, the limit of a scan`,
    { hint: 'Read the last lines with `tailLines`, or use a command such as `sed -n`.' },
  )

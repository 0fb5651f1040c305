// Replaces paths in a stream of bytes, whatever the cuts between chunks. Everything outside a match passes byte for
// byte: text is never decoded, so invalid UTF-8 and NULs survive. Leftmost match first, and of several the longest.
// Each byte is looked at a bounded number of times, and no more than one path and two bytes are ever held back.
import { endsAt, lookBehindBytes, type Start, type StartRule } from './edges.ts'

export interface Replacement {
  readonly from: string
  readonly to: string
}

export interface Replacer {
  push(chunk: Uint8Array): Buffer
  /** What was held back, as if nothing came after it. */
  end(): Buffer
}

/** Turns a match into what is written instead. `at` is where it was found in `bytes`. */
export type Spelling = (to: Buffer, bytes: Uint8Array, at: number) => Uint8Array

interface Pattern {
  readonly from: Buffer
  readonly to: Buffer
  readonly deep: boolean
}

interface Found {
  readonly from: number
  readonly to: number
  readonly instead: Uint8Array
}

const slash = 0x2f
const nothing = Buffer.alloc(0)

export function openReplacer(
  replacements: readonly Replacement[],
  starts: StartRule,
  spell: Spelling = (to) => to,
): Replacer {
  const patterns = longestFirst(replacements)
  const openings = openingsOf(patterns)
  let past: Buffer = nothing
  let held: Buffer = nothing

  /** The pattern at `at`, or none, or `unknown` while one that is longer than what is here could still become whole. */
  const patternAt = (bytes: Buffer, at: number, final: boolean): Pattern | 'none' | 'unknown' => {
    let start: Start | undefined
    for (const pattern of patterns) {
      const fit = fitAt(bytes, at, pattern.from, final)
      if (fit === 'no') continue
      // Asked late: hardly any slash gets this far, and looking behind it costs more than looking ahead.
      start ??= starts(bytes, at)
      if (start === 'no') return 'none'
      if (start === 'deep' && !pattern.deep) continue
      return fit === 'yes' ? pattern : 'unknown'
    }
    return 'none'
  }

  const replace = (chunk: Uint8Array, final: boolean): Buffer => {
    const bytes = Buffer.concat([past, held, chunk])
    const found: Found[] = []
    let at = past.length
    let settled = bytes.length
    while ((at = nextCandidate(bytes, at, openings)) < bytes.length) {
      const pattern = patternAt(bytes, at, final)
      if (pattern === 'unknown') {
        settled = at
        break
      }
      if (pattern === 'none') at += 1
      else {
        found.push({ from: at, to: at + pattern.from.length, instead: spell(pattern.to, bytes, at) })
        at += pattern.from.length
      }
    }
    const answer = assemble(bytes, past.length, settled, found)
    past = Buffer.from(bytes.subarray(Math.max(0, settled - lookBehindBytes), settled))
    held = Buffer.from(bytes.subarray(settled))
    return answer
  }

  if (patterns.length === 0) return { push: (chunk) => Buffer.from(chunk), end: () => nothing }
  return { push: (chunk) => replace(chunk, false), end: () => replace(nothing, true) }
}

export function replaceAll(
  bytes: Uint8Array,
  replacements: readonly Replacement[],
  starts: StartRule,
  spell?: Spelling,
): Buffer {
  const replacer = openReplacer(replacements, starts, spell)
  return Buffer.concat([replacer.push(bytes), replacer.end()])
}

/** The root directory is left out: every path begins with it, so it tells nothing and would match everywhere. */
function longestFirst(replacements: readonly Replacement[]): readonly Pattern[] {
  const seen = new Set<string>()
  return replacements
    .filter(({ from }) => from.startsWith('/') && from.length > 1 && !seen.has(from) && seen.add(from))
    .map(({ from, to }) => ({ from: Buffer.from(from), to: Buffer.from(to), deep: from.lastIndexOf('/') > 0 }))
    .sort((a, b) => b.from.length - a.from.length)
}

/** By the two bytes after a slash: could this be one of the paths? Most text is dismissed by this table alone. */
function openingsOf(patterns: readonly Pattern[]): Uint8Array {
  const openings = new Uint8Array(0x10000)
  for (const { from } of patterns) {
    const [, second = 0, third] = from
    if (third === undefined) openings.fill(1, second << 8, (second + 1) << 8)
    else openings[(second << 8) | third] = 1
  }
  return openings
}

/** The next slash with which a path of ours could begin; near the end of the bytes every slash could. */
function nextCandidate(bytes: Buffer, from: number, openings: Uint8Array): number {
  // A call of indexOf for every slash costs more than this loop where slashes are dense.
  const sure = bytes.length - 2
  let at = from
  for (; at < sure; at += 1) {
    if (bytes[at] === slash && openings[((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)] === 1) return at
  }
  while (at < bytes.length && bytes[at] !== slash) at += 1
  return at
}

/** One allocation, however many were found. */
function assemble(bytes: Buffer, from: number, to: number, found: readonly Found[]): Buffer {
  if (found.length === 0) return bytes.subarray(from, to)
  const growth = found.reduce((sum, each) => sum + each.instead.length - (each.to - each.from), 0)
  const answer = Buffer.allocUnsafe(to - from + growth)
  let read = from
  let written = 0
  for (const each of found) {
    written += bytes.copy(answer, written, read, each.from)
    answer.set(each.instead, written)
    written += each.instead.length
    read = each.to
  }
  bytes.copy(answer, written, read, to)
  return answer
}

function fitAt(bytes: Buffer, at: number, path: Buffer, final: boolean): 'yes' | 'no' | 'unknown' {
  const length = Math.min(path.length, bytes.length - at)
  // Paths differ at their ends more often than at their beginnings.
  if (bytes[at + length - 1] !== path[length - 1]) return 'no'
  for (let index = 0; index < length; index += 1) {
    if (bytes[at + index] !== path[index]) return 'no'
  }
  if (length < path.length) return final ? 'no' : 'unknown'
  return endsAt(bytes, at + path.length, final)
}

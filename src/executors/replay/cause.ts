// Why two outputs may differ, as far as it can be told. Values are looked at first: a number that is the very time at which
// each side ran is strong evidence. What a command names (`date`, /dev/urandom, $$) is weaker, and says so. Nothing is
// claimed where two explanations stand against each other, or none is found.
import type { Cause } from './report.ts'

/** One of the two outputs, and when it was made. */
export interface Side {
  readonly bytes: Uint8Array
  readonly fromMs: number
  readonly toMs: number
}

export interface Evidence {
  readonly offset: number
  readonly original: Side
  readonly replayed: Side
  /** The command as text; empty where there is none. */
  readonly command: string
  readonly notSupplied: readonly string[]
}

/** Differences that were seen before, by the two values that stood there: `#12`. */
export type Seen = Map<string, string>

const reach = 256
// Clocks of host and guest are one, but an output may be written some time after its time was taken.
const slackMs = 2000

interface Line {
  readonly text: string
  /** Of the first difference. */
  readonly at: number
}

export function likelyCause(evidence: Evidence, seen: Seen, subject: string): Cause | null {
  const original = lineAround(evidence.original.bytes, evidence.offset)
  const replayed = lineAround(evidence.replayed.bytes, evidence.offset)
  const earlier = earlierPlace(original, replayed, seen, subject)
  if (isOwnTime(original, evidence.original, replayed, evidence.replayed)) {
    return { kind: 'time', because: 'each holds the time at which it was made' }
  }
  if (earlier !== undefined) {
    return { kind: 'earlier_difference', because: `the same two values differ in ${earlier}` }
  }
  if (both(original, replayed, uuid)) return { kind: 'random', because: 'both hold a UUID there' }
  if (both(original, replayed, duration)) return { kind: 'duration', because: 'both hold a number of seconds there' }
  return namedBy(evidence.command) ?? missingEnvironment(evidence.notSupplied)
}

function lineAround(bytes: Uint8Array, offset: number): Line {
  const from = Math.max(0, offset - reach, bytes.lastIndexOf(10, offset - 1) + 1)
  const end = bytes.indexOf(10, offset)
  const to = Math.min(offset + reach, end < 0 ? bytes.length : end)
  // One character for each byte, so that positions stay what they are.
  return { text: Buffer.from(bytes.subarray(from, to)).toString('latin1'), at: offset - from }
}

/** Remembers what stands there on both sides, the words and the whole lines, and tells where it was seen first. */
function earlierPlace(original: Line, replayed: Line, seen: Seen, subject: string): string | undefined {
  const pairs = [
    [wordAt(original), wordAt(replayed)],
    [original.text.trim(), replayed.text.trim()],
  ]
  // Short texts meet by chance.
  const keys = pairs.filter((pair) => pair.every((text) => text.length >= 4)).map((pair) => JSON.stringify(pair))
  const earlier = keys.map((key) => seen.get(key)).find((place) => place !== undefined && place !== subject)
  for (const key of keys) if (!seen.has(key)) seen.set(key, subject)
  return earlier
}

const wordAt = ({ text, at }: Line): string =>
  (/[^\s"'=,;()]*$/.exec(text.slice(0, at))?.[0] ?? '') + (/^[^\s"'=,;()]*/.exec(text.slice(at))?.[0] ?? '')

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
const duration = /\d+(?:\.\d+)?\s?(?:ns|us|ms|s|sec|secs|seconds)\b/g
const epoch = /(?<![\d.])(?:\d{10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19})(?![\d.])/g
const calendar = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g
const clock = /(?<![\d:])\d\d:\d\d:\d\d(?![\d:])/g

/** What the pattern finds where the difference is. */
function spanAt({ text, at }: Line, pattern: RegExp): string | undefined {
  for (const match of text.matchAll(pattern)) {
    if (match.index <= at && at < match.index + match[0].length) return match[0]
  }
  return undefined
}

const both = (original: Line, replayed: Line, pattern: RegExp): boolean =>
  spanAt(original, pattern) !== undefined && spanAt(replayed, pattern) !== undefined

function isOwnTime(original: Line, was: Side, replayed: Line, is: Side): boolean {
  return [
    [epoch, epochMs],
    [calendar, calendarMs],
    [clock, clockMs],
  ].some(([pattern, read]) => {
    const [one, other] = [spanAt(original, pattern as RegExp), spanAt(replayed, pattern as RegExp)]
    if (one === undefined || other === undefined) return false
    const instant = read as (text: string, side: Side) => number
    return isWithin(instant(one, was), was) && isWithin(instant(other, is), is)
  })
}

const isWithin = (ms: number, { fromMs, toMs }: Side): boolean => ms >= fromMs - slackMs && ms <= toMs + slackMs

/** Seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their length. */
function epochMs(text: string): number {
  const whole = text.split('.')[0] ?? ''
  return Number(text) * 10 ** (13 - whole.length)
}

const quarterMs = 15 * 60_000

/** Zones lie quarters of an hour apart, so without one a time counts when it fits in some zone. */
function calendarMs(text: string, side: Side): number {
  const hasZone = /(?:Z|[+-]\d\d:?\d\d)$/.test(text.slice(10))
  // `date -Ins` writes a comma before the fraction, which is as good as a point.
  const plain = text.replace(' ', 'T').replace(',', '.')
  const ms = Date.parse(hasZone ? plain : `${plain}Z`)
  return hasZone ? ms : nearest(ms, side)
}

const clockMs = (text: string, side: Side): number => nearest(Date.parse(`1970-01-01T${text}Z`), side)

/** Shifted by whole quarters of an hour to where it lies nearest to the middle of the side's own time. */
function nearest(ms: number, { fromMs, toMs }: Side): number {
  const middle = (fromMs + toMs) / 2
  return ms + Math.round((middle - ms) / quarterMs) * quarterMs
}

const word = (names: string): RegExp => new RegExp(`(?:^|[\\s;|&({\`"'])(${names})(?=$|[\\s;|&)}\`"'])`)

const tellTales: readonly (readonly [Cause['kind'], RegExp])[] = [
  ['time', word('date|uptime|hwclock')],
  ['time', /(\/proc\/uptime|\$\{?EPOCH(?:SECONDS|REALTIME)\b|\$\{?SECONDS\b|\bDate\.now\(|\btime\.time\()/],
  ['random', word('uuidgen|mktemp|shuf')],
  ['random', /(\/dev\/u?random|\$\{?S?RANDOM\b|\bMath\.random\(|\bopenssl rand\b|\brandomUUID\(|\bimport random\b)/],
  ['process_id', /(\$\$|\$!|\$\{?PPID\b|\$\{?BASHPID\b|\bgetpid\()/],
]

function namedBy(command: string): Cause | null {
  const found = tellTales.flatMap(([kind, pattern]) => {
    const name = pattern.exec(command)?.[1]
    return name === undefined ? [] : [{ kind, because: `the command names ${name}` }]
  })
  const [first] = found
  return first !== undefined && found.every(({ kind }) => kind === first.kind) ? first : null
}

const missingEnvironment = (names: readonly string[]): Cause | null =>
  names.length === 0 ? null : { kind: 'environment', because: `not supplied: ${names.join(', ')}` }

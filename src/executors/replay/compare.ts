// What happened now beside what was recorded then: how it ended, both outputs, the answer, the refusal.
import type { KeptAction, RecordedAction } from '../../contract/recorded-action.ts'
import { firstDifference, placeAt } from './bytes.ts'
import { likelyCause, type Seen, type Side } from './cause.ts'
import type { Cause, Comparison, Difference } from './report.ts'
import type { Happened, Output, RecordedEnd } from './repeat.ts'

export interface Comparing {
  readonly seen: Seen
  readonly notSupplied: readonly string[]
  /** When the repetition began and ended. */
  readonly fromMs: number
  readonly toMs: number
  /** SHA-256 of a value as canonical JSON. */
  readonly fingerprint: (value: unknown) => string
}

type Cut = Comparison['cut'][number]
export type Compared = Pick<Comparison, 'result' | 'reason' | 'differences' | 'cut'>

/** Ends that depend on the moment. What came before them need not be the same twice. */
const unsteady: Readonly<Partial<Record<RecordedEnd['by'], string>>> = {
  timeout: 'it ran out of time then',
  cancel: 'it was cancelled then',
  oom: 'it ran out of memory then',
  lost: 'nobody knows how it ended then',
}

export async function compare(action: KeptAction, now: Happened, comparing: Comparing): Promise<Compared> {
  const reason = unsteady[action.ended?.by ?? 'exit'] ?? lostNow(now)
  if (reason !== undefined) return { result: 'not_comparable', reason, differences: [], cut: [] }
  const cut: Cut[] = []
  const differences = await differencesOf(action, now, { ...comparing, cut })
  return { result: differences.length === 0 ? 'identical' : 'differs', reason: null, differences, cut }
}

const lostNow = (now: Happened): string | undefined =>
  now.kind === 'ended' && now.ended.by === 'lost' ? 'nobody knows how it ended now' : undefined

interface Collecting extends Comparing {
  readonly cut: Cut[]
}

async function differencesOf(action: KeptAction, now: Happened, comparing: Collecting): Promise<readonly Difference[]> {
  const was = action.error !== null ? 'refused' : action.ended !== null ? 'ended' : 'answered'
  if (was !== now.kind) {
    return [told('error', `${outcomeThen(action)} then, ${outcomeNow(now)} now`, missing(comparing))]
  }
  if (now.kind === 'refused') {
    const detail = `refused with ${action.error} then, with ${now.code} now`
    return now.code === action.error ? [] : [told('error', detail, missing(comparing))]
  }
  if (now.kind === 'answered') return answerDifference(action, now.answer, comparing)
  const ends = endDifference(action.ended, now.ended, comparing)
  const stdout = await outputDifference('stdout', action, now.stdout, comparing)
  const stderr = await outputDifference('stderr', action, now.stderr, comparing)
  return [...ends, ...stdout, ...stderr]
}

const told = (part: Difference['part'], detail: string, cause: Cause | null): Difference => ({
  part,
  place: null,
  detail,
  cause,
})

const missing = ({ notSupplied }: Comparing): Cause | null =>
  notSupplied.length === 0 ? null : { kind: 'environment', because: `not supplied: ${notSupplied.join(', ')}` }

const outcomeThen = ({ error, ended }: RecordedAction): string =>
  error !== null ? `refused with ${error}` : ended !== null ? endOf(ended) : 'answered'

const outcomeNow = (now: Happened): string =>
  now.kind === 'refused' ? `refused with ${now.code}` : now.kind === 'ended' ? endOf(now.ended) : 'answered'

function endOf(ended: RecordedEnd): string {
  if (ended.by === 'exit') return `exit code ${ended.code}`
  return ended.by === 'signal' ? `ended by ${ended.signal}` : `ended by ${ended.by}`
}

function endDifference(then: RecordedAction['ended'], now: RecordedEnd, comparing: Comparing): readonly Difference[] {
  const [was, is] = [then === null ? '' : endOf(then), endOf(now)]
  return was === is ? [] : [told('ended', `${was} then, ${is} now`, missing(comparing))]
}

/** Answers that hold something of the moment, whatever the files are. */
const momentary: Readonly<Record<string, Cause>> = {
  stat: { kind: 'time', because: 'the answer holds a time of change' },
  inspect: { kind: 'random', because: 'the answer holds the id of the sandbox' },
}

function answerDifference(action: RecordedAction, answer: unknown, comparing: Comparing): readonly Difference[] {
  if (comparing.fingerprint(answer) === action.output_sha256) return []
  const cause = momentary[action.action] ?? missing(comparing)
  return [told('answer', 'its hash is another; of the answer then only the hash was kept', cause)]
}

async function outputDifference(
  part: 'stdout' | 'stderr',
  action: KeptAction,
  now: Output,
  comparing: Collecting,
): Promise<readonly Difference[]> {
  const kept = action[part]
  if (kept === null) return [told(part, 'nothing was kept of it then', null)]
  const then: Output = { bytes: await action.files.read(part), totalBytes: kept.bytes }
  // Where one side kept less than there was, only what both have can be laid side by side.
  const isCut = isPartial(then) || isPartial(now)
  const length = isCut ? Math.min(then.bytes.length, now.bytes.length) : Number.POSITIVE_INFINITY
  const [was, is] = [then.bytes.subarray(0, length), now.bytes.subarray(0, length)]
  if (isCut) comparing.cut.push({ part, comparedBytes: was.length, bytes: then.totalBytes })
  const offset = firstDifference(was, is)
  if (offset !== undefined) return [differenceAt(offset, part, { was, is }, action, comparing)]
  if (then.totalBytes === now.totalBytes) return []
  const detail = `${then.totalBytes} bytes then, ${now.totalBytes} now; the first ${was.length} are the same`
  return [told(part, detail, missing(comparing))]
}

const isPartial = ({ bytes, totalBytes }: Output): boolean => bytes.length < totalBytes

function differenceAt(
  offset: number,
  part: 'stdout' | 'stderr',
  { was, is }: { readonly was: Uint8Array; readonly is: Uint8Array },
  action: RecordedAction,
  comparing: Comparing,
): Difference {
  const began = Date.parse(action.started_at)
  const original: Side = { bytes: was, fromMs: began, toMs: began + action.duration_ms }
  const replayed: Side = { bytes: is, fromMs: comparing.fromMs, toMs: comparing.toMs }
  const { notSupplied } = comparing
  const evidence = { offset, original, replayed, command: commandOf(action), notSupplied }
  const cause = likelyCause(evidence, comparing.seen, `#${action.number}`)
  return { part, place: placeAt(offset, was, is), detail: `differs at byte ${offset}`, cause }
}

/** The command as one text, whichever action ran it. */
export function commandOf({ input }: Pick<RecordedAction, 'input'>): string {
  const { argv, command } = input
  if (typeof command === 'string') return command
  return Array.isArray(argv) ? argv.map(String).join(' ') : ''
}

// What a run changed: the whole of it, or action by action. It reads what was recorded and nothing else: a run that is under
// way, has ended or is only a copy can be asked, and what the record could not know is told with the answer.
import { readBlob } from '../changes/blobs.ts'
import { entriesByPath, fold } from '../changes/fold.ts'
import { readHistory, type History, type HistoryStep } from '../changes/history.ts'
import { stepsUpTo } from '../changes/state.ts'
import { fileDiffs } from './files.ts'
import { summaryOf, type DiffSummary, type FileDiff } from './model.ts'
import { joined, pairsOf, type Pairs } from './pairs.ts'

export interface ActionDiff {
  readonly number: number
  readonly action: string
  readonly about: string
  readonly ended: HistoryStep['ended']
  readonly error: string | null
  readonly gaps: readonly string[]
  readonly summary: DiffSummary
  readonly files: readonly FileDiff[]
}

export interface WholeDiff {
  /** How many actions ended, and could have changed something. */
  readonly actions: number
  readonly gaps: readonly string[]
  readonly summary: DiffSummary
  readonly files: readonly FileDiff[]
}

/** From before the first action to after the last. */
export async function diffWhole(directory: string): Promise<WholeDiff> {
  const history = await readHistory(directory)
  const whole = joined(Array.from(eachStep(history), ({ pairs }) => pairs))
  const files = await fileDiffs(whole, contentsIn(directory))
  const unended = history.unended.map(({ number }) => notRecorded(number))
  return {
    actions: history.steps.filter(({ changes }) => changes !== undefined).length,
    gaps: [...history.startGaps, ...history.steps.flatMap(({ gaps }) => gaps), ...unended],
    summary: summaryOf(files),
    files,
  }
}

/** Only actions that could change something; or one, whichever it was. NOT_FOUND if there is no such action. */
export async function* diffActions(
  directory: string,
  options: { readonly only?: number } = {},
): AsyncGenerator<ActionDiff> {
  const { only } = options
  const history = await readHistory(directory)
  const unended = history.unended.map(unendedStep).filter(({ number }) => only === undefined || number === only)
  const ended = only === undefined ? history.steps : unended.length > 0 ? [] : stepsUpTo(history.steps, only)
  let startGaps = history.startGaps
  for (const { step, pairs } of eachStep({ ...history, steps: [...ended, ...unended] })) {
    if (only === undefined ? step.changes === undefined && step.gaps.length === 0 : step.number !== only) continue
    const files = await fileDiffs(pairs, contentsIn(directory))
    const { number, action, about, ended: end, error, gaps } = step
    yield { number, action, about, ended: end, error, gaps: [...startGaps, ...gaps], summary: summaryOf(files), files }
    startGaps = []
  }
}

const unendedStep = ({ number, action, about }: History['unended'][number]): HistoryStep => ({
  number,
  action,
  about,
  ended: null,
  error: null,
  changes: undefined,
  gaps: [notRecorded(number)],
})

const notRecorded = (number: number): string =>
  `The end of action ${number} was not recorded: what it changed is not shown.`

function* eachStep(history: History): Generator<{ readonly step: HistoryStep; readonly pairs: Pairs }> {
  const state = entriesByPath(history.start?.entries ?? [])
  for (const step of history.steps) {
    const changes = step.changes?.changes ?? []
    const pairs = pairsOf(state, changes)
    fold(state, changes)
    yield { step, pairs }
  }
}

const contentsIn =
  (directory: string) =>
  (sha256: string): Uint8Array | undefined =>
    readBlob(directory, sha256)

// The trees of a run as they were at some moment: the start, and on it the change set of every action up to there. Works on a
// run that is under way, has ended or is only a copy, and changes nothing. What it could not know, it says.
import { GloveboxError } from '../../errors/error.ts'
import { entriesByPath, fold, inOrder, type Entries } from './fold.ts'
import { type History, type HistoryStep } from './history.ts'

/** After an action; or before the first, or after the last. */
export type Moment = number | 'start' | 'end'

export interface TreeState {
  /** By path (see `keyOfPath`), in order, a directory before what is in it. */
  readonly entries: Entries
  /** Of an overlay: the layers under the workspace, the topmost first, that `entries` stands on. */
  readonly lower: readonly string[]
  readonly complete: boolean
  /** Why not, if not: a sentence each. */
  readonly gaps: readonly string[]
}

export function stateIn(history: History, moment: Moment): TreeState {
  const entries = entriesByPath(history.start?.entries ?? [])
  const gaps = [...history.startGaps]
  for (const step of stepsUpTo(history.steps, moment)) {
    fold(entries, step.changes?.changes ?? [])
    gaps.push(...step.gaps)
  }
  if (moment === 'end')
    gaps.push(...history.unended.map(({ number }) => `The end of action ${number} was not recorded.`))
  return { entries: inOrder(entries), lower: history.start?.lower ?? [], complete: gaps.length === 0, gaps }
}

/** Those whose looks came before the state of that moment, in their order. */
export function stepsUpTo(steps: readonly HistoryStep[], moment: Moment): readonly HistoryStep[] {
  if (moment === 'end') return steps
  if (moment === 'start' || moment === 0) return []
  const last = steps.findIndex(({ number }) => number === moment)
  if (last < 0) throw noSuchAction(moment, steps)
  return steps.slice(0, last + 1)
}

function noSuchAction(number: number, steps: readonly HistoryStep[]): GloveboxError {
  const numbers = steps.map((step) => step.number)
  return new GloveboxError('NOT_FOUND', `Cannot find action ${number}: the run has no such action that ended`, {
    hint:
      numbers.length === 0
        ? 'The run has performed no action. The state before the first is 0.'
        : `Its actions are ${Math.min(...numbers)} to ${Math.max(...numbers)}; 0 is the state before the first.`,
  })
}

// What the parts of the loop have in common while one assignment is worked on.
import type { Assignment, Outcome } from '../../contract/executor.ts'
import type { EventData } from '../../contract/event.ts'
import type { Clock } from './clock.ts'
import type { ModelOptions } from './options.ts'
import { oneLine, type Clean } from './plain.ts'
import type { ModelTool } from './tool.ts'
import type { ModelMessage, TakeTurn, Usage } from './turn.ts'

export interface Session {
  readonly assignment: Assignment
  readonly options: ModelOptions
  readonly system: string
  readonly tools: ReadonlyMap<string, ModelTool>
  readonly takeTurn: TakeTurn
  readonly clock: Clock
  readonly clean: Clean
  readonly messages: ModelMessage[]
  readonly tally: Tally
}

/** Counts up to now. */
export interface Tally {
  steps: number
  calls: number
  /** Calls in a row that could not be understood. */
  mistakes: number
  retries: number
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  estimated: boolean
}

export const newTally = (): Tally => ({
  steps: 0,
  calls: 0,
  mistakes: 0,
  retries: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  estimated: false,
})

export function addUsage(tally: Tally, usage: Usage): void {
  tally.inputTokens += usage.inputTokens
  tally.outputTokens += usage.outputTokens
  tally.cachedTokens += usage.cachedTokens
  tally.estimated ||= usage.estimated
}

export const totalTokens = (tally: Tally): number => tally.inputTokens + tally.outputTokens

/** The work cannot go on, for a reason that the model cannot mend. */
export class Ending extends Error {
  override readonly name = 'Ending'
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super(outcome.summary)
    this.outcome = outcome
  }
}

export const failed = (reason: string, summary: string): Ending => new Ending({ status: 'failed', reason, summary })

export interface Noted {
  readonly type: string
  readonly summary: string
  readonly data: EventData
  readonly severity?: 'info' | 'warning' | 'error'
}

export async function note({ assignment, clean }: Session, { summary, ...input }: Noted): Promise<void> {
  await assignment.note({ ...input, actor: 'executor', summary: oneLine(clean(summary), 500) })
}

export function say({ assignment, clean }: Session, text: string): void {
  if (text !== '') assignment.say(clean(text))
}

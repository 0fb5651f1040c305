// Who does the work of a run. An executor gets the prompt and a sandbox, and answers how it ended; the run around it keeps
// the states, the log and the files. It knows no run directory, no backend and no terminal.
import type { CatalogBudgetLine } from './catalog.ts'
import type { EventInput } from './event.ts'
import type { Sandbox } from './sandbox.ts'

/** A question to the person behind the run. While it is open, the run is `waiting_for_user`. */
export interface Question {
  readonly kind: 'question' | 'approval'
  readonly text: string
  /** Answers that are accepted. Absent: any text. */
  readonly choices?: readonly string[]
}

/** What a person at a terminal sees while the work goes on. Nothing of it is a record. */
export type Progress =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stdout' | 'stderr'; readonly chunk: Uint8Array }
  | { readonly kind: 'tool_started'; readonly tool: string; readonly about: string }
  | { readonly kind: 'tool_ended'; readonly tool: string; readonly about: string; readonly ok: boolean }

export interface Assignment {
  readonly prompt: string
  /** Law: every action and command that an executor performs through its sandbox is recorded, a refused one too. */
  readonly sandbox: Sandbox
  /** Ctrl-C, `runs cancel`, or the end of the run's time. */
  readonly signal: AbortSignal
  /** Adds to transcript.md. */
  say(text: string): void
  /** An event of the executor's own, for example one turn of a model. */
  note(input: EventInput): Promise<void>
  /** Exactly what was sent to a model as its system prompt. */
  recordSystemPrompt(text: string): Promise<void>
  /** Settles with the answer, or rejects with CANCELLED. */
  ask(question: Question): Promise<string>
  show(progress: Progress): void
  /** What is left of what the executor may use, as of whenever it is asked: the agent reads it in its catalog. Told again when it has changed. */
  tellBudget?(left: () => readonly CatalogBudgetLine[]): void
}

export interface Outcome {
  readonly status: 'completed' | 'failed' | 'cancelled' | 'lost'
  /** One word for machines; required for `failed` and `lost`: `exit_nonzero`, `timeout`, `oom`, `budget_steps`. */
  readonly reason?: string
  /** A sentence for people. */
  readonly summary: string
  /** Where a single command was the work: its code, for the exit code of `glovebox run`. */
  readonly exitCode?: number
}

export interface Executor {
  readonly name: 'command' | 'model' | 'replay' | (string & {})
  /** Law: a failure of the work is an outcome, not an exception. */
  execute(assignment: Assignment): Promise<Outcome>
}

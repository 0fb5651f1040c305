// The executor `model`: an agent loop that gives a model the prompt and the tools of a sandbox, turn by turn, until it has
// nothing more to call. Promises that budgets hold, that what went wrong is told to the model where it can mend it and to the
// run where it cannot, and that the key appears in no record. Knows no run directory, no backend, no environment and no
// terminal; the tools are handed in.
import type { Assignment, Executor, Outcome } from '../../contract/executor.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { checkModelOptions, type Endpoint } from './check.ts'
import { work } from './loop.ts'
import type { ModelOptions } from './options.ts'
import type { ModelTool } from './tool.ts'

export interface ModelExecutorOptions {
  readonly options: ModelOptions | undefined
  /** The value of the variable that `keyVariable(options)` names. */
  readonly apiKey: string | undefined
  readonly tools: (sandbox: Sandbox) => readonly ModelTool[]
  /** Files that must be there at the end, as the guest names them. */
  readonly deliverables?: readonly string[]
}

/** Throws INVALID_SETTINGS, naming what to set, before anything is created. */
export function createModelExecutor(given: ModelExecutorOptions): Executor {
  const endpoint: Endpoint = checkModelOptions(given)
  const options = given.options as ModelOptions
  return {
    name: 'model',
    execute: (assignment: Assignment): Promise<Outcome> =>
      work({ assignment, endpoint, options, tools: given.tools, deliverables: given.deliverables ?? [] }),
  }
}

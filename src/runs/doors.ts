// The names under which other systems know these operations. Thin: each is one call of what lies beneath.
import type { RunRecord, RunStatus } from '../contract/run.ts'
import { createRun, type CreateRunOptions, type Run, type TransitionOptions } from './run.ts'

export { resolveSandboxPath } from './resolve-path.ts'

export type RunContext = Run

export const createRunContext = (options: CreateRunOptions): Promise<RunContext> => createRun(options)

export const updateRunState = (
  context: RunContext,
  status: RunStatus,
  options?: TransitionOptions,
): Promise<RunRecord> => context.transition(status, options)

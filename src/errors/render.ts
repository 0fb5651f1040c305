// Two renderings of one error: the agent's holds nothing of the host, the operator's adds what helps to mend it.
import { GloveboxError } from './error.ts'
import { errorTable, type ErrorCode } from './table.ts'

export interface RenderedError {
  readonly code: ErrorCode
  readonly message: string
  readonly hint?: string
  readonly facts?: Readonly<Record<string, unknown>>
}

/** Anything that is not ours could name a host path, so the agent learns only that it was a fault. */
export function renderForAgent(error: unknown): RenderedError {
  if (!(error instanceof GloveboxError)) return { code: 'INTERNAL', message: errorTable.INTERNAL.summary }
  return {
    code: error.code,
    message: error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(Object.keys(error.facts).length === 0 ? {} : { facts: error.facts }),
  }
}

export function renderForOperator(error: unknown): RenderedError & { readonly detail?: string } {
  if (error instanceof GloveboxError) {
    const shown = renderForAgent(error)
    return error.operatorDetail === undefined ? shown : { ...shown, detail: error.operatorDetail }
  }
  const detail = error instanceof Error ? error.message : String(error)
  return { code: 'INTERNAL', message: errorTable.INTERNAL.summary, detail }
}

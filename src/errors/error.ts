// The one error class. Messages read "Cannot ‹verb› ‹thing›: ‹cause›"; the hint says what to do.
// `message` and `hint` are written for the agent: no host path, no secret. What only the operator
// may read goes into `operatorDetail` and is shown by the operator's rendering alone.
import { errorTable, type ErrorCode, type ErrorKind } from './table.ts'

export interface ErrorDetails {
  readonly hint?: string
  readonly operatorDetail?: string
  /** Structured facts for machines, for example field, asked and allowed of a policy escalation. */
  readonly facts?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

export class GloveboxError extends Error {
  override readonly name = 'GloveboxError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly operatorDetail: string | undefined
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.operatorDetail = details.operatorDetail
    this.facts = details.facts ?? {}
  }

  get kind(): ErrorKind {
    return errorTable[this.code]
  }
}

export const isGloveboxError = (value: unknown): value is GloveboxError => value instanceof GloveboxError

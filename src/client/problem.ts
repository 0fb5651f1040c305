// Errors of the server, as the library throws them: RFC 9457 bodies become the one error class with a code of the one table.
import { GloveboxError } from '../errors/error.ts'
import { errorTable, type ErrorCode } from '../errors/table.ts'

interface ProblemBody {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly requestId?: string
  readonly hint?: string
  readonly facts?: Readonly<Record<string, unknown>>
}

export interface Told {
  readonly error: GloveboxError
  /** What the server says of trying again; undefined where it did not answer in our words. */
  readonly retryable: boolean | undefined
}

/** Gateways say with these that the server behind them did not answer. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504])

export function errorFrom(status: number, text: string, doing: string): Told {
  const body = problemIn(text)
  if (body !== undefined) return { error: errorOf(body), retryable: body.retryable }
  const code = gatewayStatuses.has(status) ? 'SERVER_UNREACHABLE' : 'UNEXPECTED_ANSWER'
  const error = new GloveboxError(code, `Cannot ${doing}: the server answered ${status} without saying why`, {
    hint: 'Check that the URL is that of a Glovebox server, and what stands between.',
    facts: { status },
  })
  return { error, retryable: undefined }
}

/** The last word of a stream that cannot go on has the same body. Undefined: it is an event of that name, and no problem. */
export function errorInEvent(data: string): GloveboxError | undefined {
  const body = problemIn(data)
  return body === undefined ? undefined : errorOf(body)
}

function errorOf({ code, message, requestId, hint, facts }: ProblemBody): GloveboxError {
  const details = {
    ...(hint === undefined ? {} : { hint }),
    ...(requestId === undefined ? {} : { operatorDetail: `request ${requestId}` }),
  }
  if (isKnown(code)) return new GloveboxError(code, message, { ...details, facts: facts ?? {} })
  // A newer server may have codes that this client's table has not.
  return new GloveboxError('UNEXPECTED_ANSWER', message, { ...details, facts: { ...facts, code } })
}

const isKnown = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code)

function problemIn(text: string): ProblemBody | undefined {
  const body = fieldsOf(parsed(text))
  const error = fieldsOf(body?.['error'])
  if (error === undefined) return undefined
  const { code, message, requestId, retryable, hint, facts } = error
  if (typeof code !== 'string' || typeof message !== 'string') return undefined
  const shownFacts = fieldsOf(facts)
  return {
    code,
    message,
    retryable: retryable === true,
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(typeof hint === 'string' ? { hint } : {}),
    ...(shownFacts === undefined ? {} : { facts: shownFacts }),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined

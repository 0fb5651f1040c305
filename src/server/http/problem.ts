// Errors as HTTP tells them: RFC 9457 from the one table. The caller sees what an agent may see; what only the operator may
// read goes to the log.
import { GloveboxError } from '../../errors/error.ts'
import { renderForAgent } from '../../errors/render.ts'
import { errorTable, type ErrorCode } from '../../errors/table.ts'
import { z } from 'zod'
import { named } from './route.ts'

export const problemType = 'application/problem+json'

const codes = Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]]

export const problem = named(
  'Problem',
  z.strictObject({
    type: z.string().describe('`urn:glovebox:error:` and the code in small letters.'),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What could not be done, and why.'),
    error: z.strictObject({
      code: z.enum(codes),
      message: z.string(),
      requestId: z.string(),
      retryable: z.boolean(),
      hint: z.string().optional().describe('What to do about it.'),
      facts: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
)

export interface Problem {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

/** How long to wait before trying again where nothing better is known. */
const retryAfterSeconds = 1

export function problemOf(error: unknown, requestId: string): Problem {
  const { code, message, hint, facts } = renderForAgent(error)
  const { http, summary, retryable } = errorTable[code]
  const body = {
    type: `urn:glovebox:error:${code.toLowerCase()}`,
    title: summary,
    status: http,
    detail: message,
    error: {
      code,
      message,
      requestId,
      retryable,
      ...(hint === undefined ? {} : { hint }),
      ...(facts === undefined ? {} : { facts }),
    },
  }
  return { status: http, text: JSON.stringify(body), headers: headersOf(http, facts) }
}

function headersOf(status: number, facts: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, string>> {
  const { retryAfterSeconds: wait, allow, sizeBytes } = facts
  if (status === 401) return { 'www-authenticate': 'Bearer realm="glovebox"' }
  if (status === 405 && typeof allow === 'string') return { allow }
  if (status === 416 && typeof sizeBytes === 'number') return { 'content-range': `bytes */${sizeBytes}` }
  if (status === 429 || status === 503 || typeof wait === 'number')
    return { 'retry-after': String(typeof wait === 'number' ? Math.max(1, Math.ceil(wait)) : retryAfterSeconds) }
  return {}
}

/** A fault of ours, or of the host: the log must tell what the caller must not see. */
export const isFault = (error: unknown): boolean => !(error instanceof GloveboxError) || error.kind.http >= 500

// What went wrong at the provider, whether it may pass, and how long to wait. Pure: it reads errors by their fields, since
// they come from several packages, from fetch, and from inside the stream.
import { oneLine, type Clean } from './plain.ts'

export interface Fault {
  readonly message: string
  readonly status?: number
  /** Asking again may help. */
  readonly passing: boolean
  /** The provider's own wish. */
  readonly retryAfterMs?: number
}

/** Nothing came for longer than the options allow. */
export class StalledError extends Error {
  override readonly name = 'StalledError'
}

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export function readFault(error: unknown, clean: Clean, now: number): Fault {
  const fields = fieldsOf(error)
  const message = oneLine(clean(describe(error)), 500)
  const told = fields['statusCode']
  // The SDK puts the status of success also on an answer that broke off after it.
  const status = typeof told === 'number' && told >= 300 ? told : undefined
  if (status === undefined) return { message, passing: mayPass(error, fields) }
  const retryAfterMs = readRetryAfter(fieldsOf(fields['responseHeaders']), now)
  return {
    message: message === '' ? `HTTP status ${status}` : message,
    status,
    passing: statusMayPass(status) && !textOf(fields['responseBody']).includes('"insufficient_quota"'),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

function describe(error: unknown): string {
  if (error instanceof StalledError) return error.message
  const fields = fieldsOf(error)
  const text = typeof error === 'string' ? error : textOf(fields['message'])
  const cause = connectionCode(error)
  return cause === undefined || text.includes(cause) ? text : `${text} (${cause})`
}

const statusMayPass = (status: number): boolean => [408, 409, 425, 429].includes(status) || status >= 500

/** Names under which the SDK reports a stream that is cut off or garbled. */
const brokenStream =
  /^AI_(?:InvalidResponseData|TypeValidation|JSONParse|EmptyResponseBody|NoOutputGenerated|NoContentGenerated)Error$/

function mayPass(error: unknown, fields: Fields): boolean {
  if (error instanceof StalledError || connectionCode(error) !== undefined) return true
  const name = textOf(fields['name'])
  if (brokenStream.test(name) || fields['isRetryable'] === true) return true
  if (error instanceof Error) return error.message === 'terminated'
  // An error inside the stream comes as the provider's own object: the status was 200 before it went wrong.
  return !/invalid|authentication|permission|not_found|quota/.test(
    `${textOf(fields['type'])} ${textOf(fields['code'])}`,
  )
}

/** `ECONNRESET` and its like, which fetch hides some causes deep. */
function connectionCode(error: unknown): string | undefined {
  let current = error
  for (let depth = 0; depth < 5 && current !== undefined; depth++) {
    const { code, cause } = fieldsOf(current)
    if (/^(?:E[A-Z_]+|UND_ERR_[A-Z_]+)$/.test(textOf(code))) return textOf(code)
    current = cause
  }
  return undefined
}

/** Seconds or a date, as HTTP has it; or the milliseconds that some providers send beside it. */
export function readRetryAfter(headers: Fields, now: number): number | undefined {
  const milliseconds = textOf(headers['retry-after-ms'])
  if (/^\d+(?:\.\d+)?$/.test(milliseconds)) return Math.ceil(Number(milliseconds))
  const value = textOf(headers['retry-after'])
  if (/^\d+(?:\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

export interface Patience {
  readonly maxRetries: number
  readonly retryDelayMs: number
  readonly maxRetryDelayMs: number
}

/** How long to wait before asking again. Undefined: not at all. `chance` lies in [0, 1). */
export function retryDelay(fault: Fault, retried: number, patience: Patience, chance: number): number | undefined {
  if (!fault.passing || retried >= patience.maxRetries) return undefined
  const grown = Math.min(patience.maxRetryDelayMs, patience.retryDelayMs * 2 ** retried)
  // Between half and all of it, so that many runs which failed together do not come back together.
  const own = Math.round(grown * (0.5 + chance / 2))
  if (fault.retryAfterMs === undefined) return own
  return fault.retryAfterMs > patience.maxRetryDelayMs ? undefined : Math.max(own, fault.retryAfterMs)
}

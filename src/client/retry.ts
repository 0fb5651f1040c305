// When a request is sent again, and after how long. Only a request that changes nothing when it comes twice is ever repeated:
// one that reads, one that ends what may have ended already, or one under a key by which the server knows it again.

export interface RetryRules {
  /** How often a request is sent again after the first time. */
  readonly retries: number
  /** How often a stream is taken up again that brings no event in between. */
  readonly reconnects: number
  /** The first pause; each further one is twice as long. */
  readonly firstMs: number
  /** No pause is longer, and a server that asks for a longer one is not waited for. */
  readonly longestMs: number
}

export const customaryRetries: RetryRules = { retries: 5, reconnects: 10, firstMs: 200, longestMs: 30_000 }

/** Statuses that speak of a moment and not of the request. */
const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

export interface Failure {
  /** Absent: no answer came. */
  readonly status?: number
  /** What the server itself says of trying again; absent where it did not answer in our words. */
  readonly retryable?: boolean | undefined
  readonly retryAfterMs?: number | undefined
}

export const isPassing = ({ status, retryable }: Failure): boolean =>
  status === undefined || (passing.has(status) && retryable !== false)

/** The server itself said nothing, so what was asked for may have been done. */
export const isUnheard = ({ status, retryable }: Failure): boolean =>
  status === undefined || (passing.has(status) && retryable === undefined)

/** Undefined: do not try again. `attempt` counts from 0; `chance` lies between 0 and 1. */
export function pauseMs(
  failure: Failure,
  attempt: number,
  rules: Omit<RetryRules, 'reconnects'>,
  chance: number,
): number | undefined {
  if (attempt >= rules.retries || !isPassing(failure)) return undefined
  const asked = failure.retryAfterMs ?? 0
  if (asked > rules.longestMs) return undefined
  const grown = Math.min(rules.longestMs, rules.firstMs * 2 ** attempt)
  // Callers that were cut off together must not all come back together.
  return Math.max(asked, grown * (0.5 + chance / 2))
}

/** Seconds or a date, as RFC 9110 has it. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

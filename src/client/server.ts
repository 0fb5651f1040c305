// The way to a server: one request, its answer or its error, and what may be tried again. Uses fetch and nothing of a
// platform's own. The token goes into a header and nowhere else: no address, no message and no error holds it.
import { GloveboxError } from '../errors/error.ts'
import { addressOf, tokenOf } from './address.ts'
import { pause } from './pause.ts'
import { errorFrom } from './problem.ts'
import { customaryRetries, type Failure, isUnheard, pauseMs, retryAfterMs, type RetryRules } from './retry.ts'

export interface ServerOptions {
  /** Of the server: `http://127.0.0.1:4177`. */
  readonly url: string | URL
  readonly token: string
  readonly retry?: Partial<RetryRules>
  /** How long an answer is waited for, where nothing is said of the time that the work itself takes. Default: one minute. */
  readonly answerMs?: number
  /** A stream that says nothing for so long is broken. The server speaks at least every 15 seconds. Default: 45 seconds. */
  readonly silentMs?: number
  /** Default: the platform's. */
  readonly fetch?: typeof globalThis.fetch
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

export interface Asked {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Begins with a slash; its parts are encoded already. */
  readonly path: string
  /** For messages: "Cannot ‹doing›: …". */
  readonly doing: string
  readonly query?: Query | undefined
  readonly json?: unknown
  readonly bytes?: Uint8Array | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly accept?: string
  /** Under it the server does the thing once, however often it is sent. */
  readonly idempotencyKey?: string | undefined
  /** It may be sent again: by default what reads, what deletes, and what has a key. */
  readonly repeatable?: boolean | undefined
  /** Zero: as long as it takes. */
  readonly answerMs?: number | undefined
  /** So long the server is asked to wait before it answers. */
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** One sending: what came of it, or why nothing did. */
export type Attempt<Value> = { readonly value: Value } | { readonly error: GloveboxError; readonly failure: Failure }

export interface Server {
  /** Without a slash at its end. */
  readonly address: string
  readonly retry: RetryRules
  readonly answerMs: number
  readonly silentMs: number
  /** The whole answer as JSON; undefined where it is empty. */
  json<Value>(asked: Asked): Promise<Value>
  bytes(asked: Asked): Promise<Uint8Array>
  /** Sent once. The body is unread, and ends with the signal; what breaks is the caller's to mend. */
  open(asked: Asked): Promise<Attempt<Response>>
}

const customaryAnswerMs = 60_000
const customarySilenceMs = 45_000

export function openServer(options: ServerOptions): Server {
  const address = addressOf(options.url)
  const authorization = `Bearer ${tokenOf(options.token)}`
  const send = options.fetch ?? globalThis.fetch.bind(globalThis)
  const retry = { ...customaryRetries, ...options.retry }
  const answerMs = options.answerMs ?? customaryAnswerMs

  const once = async <Value>(asked: Asked, read: (response: Response) => Promise<Value>): Promise<Attempt<Value>> => {
    const limitMs = limitOf(asked, answerMs)
    const late = new AbortController()
    const timer = limitMs === 0 ? undefined : setTimeout(() => late.abort(), limitMs)
    const signal = asked.signal === undefined ? late.signal : AbortSignal.any([late.signal, asked.signal])
    try {
      const url = `${address}${asked.path}${queryText(asked.query)}`
      const response = await send(url, { ...requestOf(asked, authorization), signal })
      return response.ok ? { value: await read(response) } : await refusalOf(response, asked.doing)
    } catch (error) {
      if (error instanceof GloveboxError) return { error, failure: { status: 200 } }
      return broken(error, asked, late.signal.aborted ? limitMs : undefined)
    } finally {
      clearTimeout(timer)
    }
  }

  const often = async <Value>(asked: Asked, read: (response: Response) => Promise<Value>): Promise<Value> => {
    let mayBeDone = false
    for (let attempt = 0; ; attempt++) {
      requireWanted(asked)
      const tried = await once(asked, read)
      if ('value' in tried) return tried.value
      // Gone by the first sending, whose answer was lost: there is as little to tell as where it was heard.
      if (mayBeDone && asked.method === 'DELETE' && tried.error.code === 'NOT_FOUND') return undefined as Value
      mayBeDone ||= isUnheard(tried.failure)
      requireWanted(asked)
      const wait = isRepeatable(asked) ? pauseMs(tried.failure, attempt, retry, Math.random()) : undefined
      if (wait === undefined) throw tried.error
      await pause(wait, asked.signal)
    }
  }

  return {
    address,
    retry,
    answerMs,
    silentMs: options.silentMs ?? customarySilenceMs,
    json: <Value>(asked: Asked) => often(asked, (response) => jsonOf<Value>(response, asked.doing)),
    bytes: (asked) => often(asked, async (response) => new Uint8Array(await response.arrayBuffer())),
    open: (asked) => once(asked, (response) => Promise.resolve(response)),
  }
}

/** What it was asked to wait for is no time that the answer takes. */
const limitOf = (asked: Asked, answerMs: number): number => {
  const limitMs = asked.answerMs ?? answerMs
  return limitMs === 0 ? 0 : limitMs + (asked.waitMs ?? 0)
}

const harmless: ReadonlySet<string> = new Set(['GET', 'DELETE'])

const isRepeatable = ({ method, idempotencyKey, repeatable }: Asked): boolean =>
  repeatable ?? (idempotencyKey !== undefined || harmless.has(method))

export function requireWanted({ signal, doing }: Pick<Asked, 'signal' | 'doing'>): void {
  if (signal?.aborted === true) throw new GloveboxError('CANCELLED', `Cannot ${doing}: the caller cancelled it`)
}

function requestOf(asked: Asked, authorization: string): RequestInit {
  const { method, json, bytes, idempotencyKey } = asked
  const type = json === undefined ? 'application/octet-stream' : 'application/json'
  const body = json === undefined ? bytes : JSON.stringify(json)
  return {
    method,
    headers: {
      accept: asked.accept ?? 'application/json',
      ...asked.headers,
      authorization,
      ...(body === undefined ? {} : { 'content-type': type }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body }),
    ...discretion,
  }
}

/** No cookies, nothing kept; and the token was given for this server, not for another that it may point to. */
const discretion = {
  cache: 'no-store',
  credentials: 'omit',
  referrerPolicy: 'no-referrer',
  redirect: 'error',
} as const

async function refusalOf(response: Response, doing: string): Promise<Attempt<never>> {
  const { error, retryable } = errorFrom(response.status, await response.text(), doing)
  const wait = retryAfterMs(response.headers.get('retry-after'), Date.now())
  return { error, failure: { status: response.status, retryable, retryAfterMs: wait } }
}

function broken(cause: unknown, asked: Asked, lateAfterMs: number | undefined): Attempt<never> {
  const why = lateAfterMs === undefined ? 'the server cannot be reached' : `no answer came within ${lateAfterMs} ms`
  const hint = isRepeatable(asked)
    ? 'Check the URL, and that the server runs: `glovebox serve`.'
    : 'Nobody can know whether it was done: look before you send it again.'
  return {
    error: new GloveboxError('SERVER_UNREACHABLE', `Cannot ${asked.doing}: ${why}`, {
      hint,
      ...detailOf(cause),
      cause,
    }),
    failure: {},
  }
}

/** Node keeps the reason one level below: `fetch failed`, and its cause `connect ECONNREFUSED …`. */
function detailOf(cause: unknown): { readonly operatorDetail?: string } {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  return inner instanceof Error && inner.message !== '' ? { operatorDetail: inner.message } : {}
}

async function jsonOf<Value>(response: Response, doing: string): Promise<Value> {
  const text = await response.text()
  if (text === '') return undefined as Value
  try {
    return JSON.parse(text) as Value
  } catch {
    throw new GloveboxError('UNEXPECTED_ANSWER', `Cannot ${doing}: the answer is not JSON`, {
      hint: 'Check that the URL is that of a Glovebox server, and what stands between.',
    })
  }
}

function queryText(query: Query = {}): string {
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [String(value)]) words.append(name, one)
  }
  const text = words.toString()
  return text === '' ? '' : `?${text}`
}

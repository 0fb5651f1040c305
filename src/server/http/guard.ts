// Who may speak to this server at all, asked before anything is routed. A page in a browser can make its visitor's browser
// send requests to loopback, and a name that resolves to loopback can make that page same-origin: so the Host and the Origin
// must be ours, on every address and without exception.
import { GloveboxError } from '../../errors/error.ts'
import type { Limits } from './limits.ts'

export interface GuardRules {
  /** Values of Host that are ours, in small letters: `localhost:4177`. */
  readonly hosts: ReadonlySet<string>
  /** Pages that may use the server, beside those it serves itself: `https://console.example`. */
  readonly origins: ReadonlySet<string>
  readonly limits: Pick<Limits, 'urlBytes'>
}

export interface Asked {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
}

/** Headers that must not come twice: two readers could each believe another one. */
const single: ReadonlySet<string> = new Set([
  'host',
  'origin',
  'authorization',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'idempotency-key',
  'last-event-id',
  'range',
])

/** Throws; the allowed origin, if the request came from a page. */
export function guard({ url, rawHeaders }: Asked, { hosts, origins, limits }: GuardRules): string | undefined {
  if (url.length > limits.urlBytes)
    throw new GloveboxError('URI_TOO_LONG', `Cannot answer: the address has more than ${limits.urlBytes} characters`)
  const headers = singleHeaders(rawHeaders)
  const host = headers.get('host')?.toLowerCase()
  if (host === undefined) throw new GloveboxError('INVALID_INPUT', 'Cannot answer: the request names no Host')
  // SECURITY: DNS rebinding makes a foreign name resolve to this address; only the Host tells.
  // test/e2e/server-transport: "a request for another host is refused before routing"
  if (!hosts.has(host))
    throw new GloveboxError('HOST_NOT_ALLOWED', 'Cannot answer: the Host of the request is not one of this server', {
      hint: 'The operator names further ones with --allow-host.',
    })
  return checkOrigin(headers, { host, origins })
}

function singleHeaders(rawHeaders: readonly string[]): ReadonlyMap<string, string> {
  const seen = new Map<string, string>()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (seen.has(name) && single.has(name))
      throw new GloveboxError('INVALID_INPUT', `Cannot answer: the header ${name} was sent twice`)
    seen.set(name, rawHeaders[at + 1] ?? '')
  }
  return seen
}

// SECURITY: a foreign page must neither change anything here nor read an answer, whatever its request looks like.
// test/e2e/server-transport: "a page of another origin is refused and gets no CORS header"
function checkOrigin(
  headers: ReadonlyMap<string, string>,
  { host, origins }: { readonly host: string; readonly origins: ReadonlySet<string> },
): string | undefined {
  const origin = headers.get('origin')
  if (origin === undefined) {
    const site = headers.get('sec-fetch-site')
    if (site === undefined || site === 'none' || site === 'same-origin') return undefined
    throw foreign()
  }
  if (origins.has(origin) || origin === `http://${host}`) return origin
  throw foreign()
}

const foreign = (): GloveboxError =>
  new GloveboxError('ORIGIN_NOT_ALLOWED', 'Cannot answer: the page that asks may not use this server', {
    hint: 'The operator names pages that may with --allow-origin.',
  })

/** What an allowed page may send, and see of the answer. */
export const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, POST, PUT, DELETE',
  'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id, range',
  'access-control-max-age': '600',
}

export const originHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'x-request-id, location, retry-after, content-range, etag',
  vary: 'origin',
})

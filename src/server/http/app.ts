// The HTTP face. It turns a request into a call of a route's handler and the answer into a response, in one order for all:
// host and origin, token, scope, share of the server, input, record, work. A route cannot skip a step, since it only declares
// itself. It promises one shape for every error, an audit record before every change, and no secret in a log line. It must
// not know what any route does, nor which backends there are.
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { v7 } from 'uuid'
import { GloveboxError } from '../../errors/error.ts'
import { renderForOperator } from '../../errors/render.ts'
import type { AuditLog } from '../../runtime/audit.ts'
import type { Answer } from './answer.ts'
import { requireScope, type Authenticate } from './auth.ts'
import { readBytes } from './body.ts'
import type { Deliveries } from './deliveries.ts'
import type { Drain } from './drain.ts'
import { guard, originHeaders, preflightHeaders, type GuardRules } from './guard.ts'
import type { Limits } from './limits.ts'
import type { Log } from './logs.ts'
import type { Metrics } from './metrics.ts'
import type { Principal } from './principal.ts'
import { isFault, problemOf } from './problem.ts'
import type { Refusals } from './refusals.ts'
import { check, queryOf, readBody, refuseQuery } from './request.ts'
import { respond, respondProblem } from './respond.ts'
import type { Call, Route } from './route.ts'
import { matcherOf } from './table.ts'
import type { Throttle } from './throttle.ts'

export interface AppParts {
  readonly routes: readonly Route[]
  readonly authenticate: Authenticate
  readonly rules: GuardRules
  readonly limits: Limits
  readonly throttle: Throttle
  readonly audit: Pick<AuditLog, 'begin'>
  readonly refusals: Refusals
  readonly log: Log
  readonly metrics: Metrics
  readonly drain: Drain
  readonly deliveries: Deliveries
}

type Env = { Bindings: HttpBindings }

/** What is known of a request while it is served, for the answer and the log. */
interface Serving {
  readonly requestId: string
  readonly begun: number
  readonly headers: Record<string, string>
  principal?: Principal
  /** Of an answer that is out already. */
  status?: number
}

export function createApp(parts: AppParts): Hono<Env> {
  const app = new Hono<Env>()
  const methodsAt = matcherOf(parts.routes)
  for (const route of parts.routes)
    app.on(route.method.toUpperCase(), honoPath(route.path), (c) => serve(c, route, parts))
  app.all('*', (c) => serve(c, missing(methodsAt(c.req.path)), parts))
  return app
}

/** `{id}` is `:id` in the router's words, and `{path+}` takes slashes too. */
const honoPath = (path: string): string =>
  path.replaceAll(/\{(\w+)(\+?)\}/g, (_, name, rest) => `:${name}${rest === '+' ? '{.+}' : ''}`)

/** Asked for with a token in force only: without one, every path looks the same. */
const missing = (allow: readonly string[]): Route => ({
  method: 'get',
  path: '/*',
  tag: 'none',
  summary: '',
  scope: 'read',
  answers: {},
  handle: async () => {
    if (allow.length === 0)
      throw new GloveboxError('NOT_FOUND', 'Cannot answer: there is no such path', {
        hint: 'The paths are listed at /openapi.json.',
      })
    throw new GloveboxError('METHOD_NOT_ALLOWED', `Cannot answer: the path takes ${allow.join(' and ')} only`, {
      facts: { allow: allow.join(', ') },
    })
  },
})

async function serve(c: Context<Env>, route: Route, parts: AppParts): Promise<Response> {
  const serving: Serving = { requestId: `req_${v7().replaceAll('-', '')}`, begun: performance.now(), headers: {} }
  serving.headers['x-request-id'] = serving.requestId
  if (parts.drain.isDraining) serving.headers['connection'] = 'close'
  let response: Response
  try {
    response = await answer(c, route, { parts, serving })
  } catch (error) {
    response = refuse(error, route, { parts, serving })
  }
  tell(c, route, { parts, serving, status: serving.status ?? response.status })
  return response
}

interface InHand {
  readonly parts: AppParts
  readonly serving: Serving
}

async function answer(c: Context<Env>, route: Route, hand: InHand): Promise<Response> {
  const { parts, serving } = hand
  const { incoming } = c.env
  const asked = { method: incoming.method ?? '', url: incoming.url ?? '', rawHeaders: incoming.rawHeaders }
  const origin = guard(asked, parts.rules)
  if (origin !== undefined) Object.assign(serving.headers, originHeaders(origin))
  if (asked.method === 'OPTIONS' && origin !== undefined)
    return respond({ kind: 'empty', status: 204, headers: preflightHeaders }, responding(c, hand))
  if (route.scope === 'open')
    return respond(await route.handle(callOf(c, route, nobody, { hand })), responding(c, hand))

  const principal = await parts.authenticate(incoming.headers.authorization)
  serving.principal = principal
  const leave = parts.throttle.enter(principal.tokenId)
  try {
    if (!parts.drain.isDraining || (route.whileDraining ?? route.method === 'get')) {
      // A path that is not there is told to whoever may ask at all.
      if (route.tag !== 'none') requireScope(principal, route.scope)
      return respond(await perform(c, route, principal, hand), responding(c, hand))
    }
    throw parts.drain.refusal()
  } finally {
    leave()
  }
}

async function perform(c: Context<Env>, route: Route, principal: Principal, hand: InHand): Promise<Answer> {
  const { parts } = hand
  const { incoming } = c.env
  const url = incoming.url ?? ''
  if (route.tag === 'none') return route.handle(callOf(c, route, principal, { hand }))
  const params = check('path', route.params, c.req.param())
  if (route.query === undefined) refuseQuery(url)
  const query = check('query', route.query, route.query === undefined ? {} : queryOf(url))
  const { value, sha256 } = await readBody(incoming, route, parts.limits)
  const call = callOf(c, route, principal, { hand, params, query, body: value, bodySha256: sha256 })
  return route.method === 'get' ? route.handle(call) : recorded(c, route, call, parts)
}

/** The intent is on disk before the change begins, and its outcome before the answer is given. */
async function recorded(c: Context<Env>, route: Route, call: Call, { audit, log }: AppParts): Promise<Answer> {
  const { principal, requestId } = call
  const intent = await audit.begin({
    actor: principal.actor,
    action: route.audit ?? `${route.tag}.${route.method}`,
    subject: c.req.path.slice(0, 512),
    data: { requestId, project: principal.project },
  })
  let done: Answer
  try {
    done = await route.handle(call)
  } catch (error) {
    await intent.failed({ code: error instanceof GloveboxError ? error.code : 'INTERNAL' })
    throw error
  }
  const location = 'headers' in done ? done.headers?.['location'] : undefined
  const recording = intent.done(location === undefined ? {} : { made: location })
  if (route.isQuick !== true) await recording
  else
    recording.catch((error: unknown) =>
      log.error({ requestId, ...renderForOperator(error) }, 'an outcome was not recorded'),
    )
  return done
}

const nobody: Principal = {
  tokenId: '',
  scopes: new Set(),
  project: '',
  actor: 'nobody',
  expiresAt: null,
  stillGood: async () => true,
}

interface Input extends Partial<Pick<Call, 'params' | 'query' | 'body' | 'bodySha256'>> {
  readonly hand: InHand
}

function callOf(c: Context<Env>, route: Route, principal: Principal, input: Input): Call {
  const { incoming, outgoing } = c.env
  let gone: AbortController | undefined
  return {
    requestId: input.hand.serving.requestId,
    principal,
    params: input.params,
    query: input.query,
    body: input.body,
    bodySha256: input.bodySha256 ?? '',
    get signal() {
      gone ??= abortedWith(outgoing)
      return gone.signal
    },
    header: (name) => {
      const value = incoming.headers[name]
      return Array.isArray(value) ? value[0] : value
    },
    bytes: () => readBytes(incoming, route.rawBody?.maxBytes ?? 0),
  }
}

function abortedWith(outgoing: HttpBindings['outgoing']): AbortController {
  const gone = new AbortController()
  if (outgoing.destroyed) gone.abort()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort()
  })
  return gone
}

/** How the adapter is told that nothing is left to be sent. */
const alreadySent = new Response(null, { headers: { 'x-hono-already-sent': 'true' } })

function responding(c: Context<Env>, { parts, serving }: InHand) {
  const { principal, requestId } = serving
  const { outgoing } = c.env
  const cut = (why: unknown): void => {
    parts.log.warn({ requestId, ...renderForOperator(why) }, 'an answer was cut off')
    outgoing.destroy()
  }
  return {
    headers: serving.headers,
    isHead: c.env.incoming.method === 'HEAD',
    send(status: number, headers: Readonly<Record<string, string>>, text: string): Response {
      serving.status = status
      outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) })
      outgoing.end(text)
      return alreadySent
    },
    cut,
    stream: () => {
      const leave = principal === undefined ? () => {} : parts.throttle.enterStream(principal.tokenId)
      return {
        limits: parts.limits,
        requestId,
        cut,
        delivery: () => parts.deliveries(outgoing.socket),
        stillGood: principal?.stillGood ?? (async () => true),
        onEnd: leave,
        signal: parts.drain.streams,
      }
    },
  }
}

function refuse(error: unknown, route: Route, { parts, serving }: InHand): Response {
  const { requestId, headers, principal } = serving
  if (error instanceof GloveboxError) {
    const { code } = error
    parts.refusals.note({
      code,
      actor: principal?.actor ?? 'nobody',
      route: `${route.method} ${route.path}`,
      requestId,
    })
  }
  if (isFault(error)) {
    const stack = error instanceof GloveboxError || !(error instanceof Error) ? undefined : error.stack
    parts.log.error({ requestId, ...renderForOperator(error), stack }, 'a request could not be answered')
  }
  return respondProblem(problemOf(error, requestId), headers)
}

function tell(c: Context<Env>, route: Route, { parts, serving, status }: InHand & { readonly status: number }): void {
  const ms = performance.now() - serving.begun
  const method = c.env.incoming.method ?? ''
  parts.metrics.answered({ method, route: route.path, status, ms })
  const { requestId, principal } = serving
  parts.log.info(
    {
      requestId,
      method,
      route: route.path,
      status,
      ms: Math.round(ms * 100) / 100,
      tokenId: principal?.tokenId,
      address: c.env.incoming.socket.remoteAddress,
    },
    'answered',
  )
}

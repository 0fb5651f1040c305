// The HTTP face. It turns a request into a call of a route's handler and the answer into a response, in one order for all:
// host and origin, token, share of the server, turn (gate.ts), scope, input, record, work. A route cannot skip a step, since it only
// declares itself. It promises one shape for every error, an audit record before every change, and no secret in a log line. It must
// not know what any route does, nor which backends there are.
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { GloveboxError } from '../../errors/error.ts'
import { renderForOperator } from '../../errors/render.ts'
import type { AuditLog } from '../../runtime/audit.ts'
import type { Answer, EventSource } from './answer.ts'
import { requireScope } from './auth.ts'
import { type CallInput, nobody, RequestCall } from './call.ts'
import type { Deliveries } from './deliveries.ts'
import type { Drain } from './drain.ts'
import type { Entry } from './gate.ts'
import { originHeaders, preflightHeaders } from './guard.ts'
import type { Lanes } from './lanes.ts'
import type { Leftovers } from './leftovers.ts'
import type { Limits } from './limits.ts'
import type { Log } from './logs.ts'
import type { Metrics } from './metrics.ts'
import type { Principal } from './principal.ts'
import { isFault, problemOf } from './problem.ts'
import { recorded, unrecorded } from './recorded.ts'
import type { Refusals } from './refusals.ts'
import { check, queryOf, readBody, refuseQuery } from './request.ts'
import { respond, sendProblem } from './respond.ts'
import type { Call, Route } from './route.ts'
import { streamEvents } from './sse.ts'
import { matcherOf } from './table.ts'
import type { Throttle } from './throttle.ts'

export interface AppParts {
  readonly routes: readonly Route[]
  readonly limits: Limits
  readonly throttle: Pick<Throttle, 'enterStream'>
  readonly audit: Pick<AuditLog, 'begin' | 'beginWritten'>
  readonly refusals: Refusals
  readonly log: Log
  readonly metrics: Metrics
  readonly drain: Drain
  readonly deliveries: Deliveries
  readonly leftovers: Leftovers
  readonly lanes: Lanes
}

type Env = { Bindings: HttpBindings & { readonly entry: Entry } }

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
  const { entry } = c.env
  const { requestId, begun } = entry
  const serving: Serving = { requestId, begun, headers: {} }
  serving.headers['x-request-id'] = serving.requestId
  if (parts.drain.isDraining) serving.headers['connection'] = 'close'
  let response: Response
  try {
    response = await answer(c, route, { parts, serving })
  } catch (error) {
    response = refuse(c, error, route, { parts, serving })
  } finally {
    entry.leave()
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
  const { entry, incoming } = c.env
  const { origin, principal } = entry
  if (origin !== undefined) Object.assign(serving.headers, originHeaders(origin))
  if (entry.refusal !== undefined) throw entry.refusal
  if (incoming.method === 'OPTIONS' && origin !== undefined)
    return respond({ kind: 'empty', status: 204, headers: preflightHeaders }, responding(c, hand))
  if (route.scope === 'open')
    return respond(await route.handle(callOf(c, route, nobody, hand), unrecorded), responding(c, hand))

  if (principal === undefined) throw new Error('a request without a token came to a route that asks for one')
  serving.principal = principal
  if (parts.drain.isDraining && !(route.whileDraining ?? route.method === 'get')) throw parts.drain.refusal()
  // A path that is not there is told to whoever may ask at all.
  if (route.tag !== 'none') requireScope(principal, route.scope)
  return respond(await perform(c, route, principal, hand), responding(c, hand))
}

async function perform(c: Context<Env>, route: Route, principal: Principal, hand: InHand): Promise<Answer> {
  const { parts } = hand
  const { incoming } = c.env
  const url = incoming.url ?? ''
  if (route.tag === 'none') return route.handle(callOf(c, route, principal, hand), unrecorded)
  const params = check('path', route.params, c.req.param())
  if (route.query === undefined) refuseQuery(url)
  const query = check('query', route.query, route.query === undefined ? {} : queryOf(url))
  const { value, bytes } = await readBody(incoming, route, parts.limits)
  const input = { params, query, body: value, bytes }
  if (route.isHeavy === true) return performHeavy(c, route, principal, { hand, input })
  const call = callOf(c, route, principal, hand, input)
  return route.method === 'get' ? route.handle(call, unrecorded) : recorded(c.req.path, route, call, parts)
}

interface Heavy {
  readonly hand: InHand
  readonly input: CallInput
}

async function performHeavy(
  c: Context<Env>,
  route: Route,
  principal: Principal,
  { hand, input }: Heavy,
): Promise<Answer> {
  const { parts } = hand
  const { leave, isOfCrowd } = await parts.lanes.take(principal.actor)
  try {
    if (c.env.incoming.socket.destroyed)
      throw new GloveboxError('CANCELLED', 'Cannot go on: whoever asked for it has gone')
    return await recorded(c.req.path, route, callOf(c, route, principal, hand, { ...input, isOfCrowd }), parts)
  } finally {
    leave()
  }
}

const callOf = (
  { env: { incoming, outgoing } }: Context<Env>,
  route: Route,
  principal: Principal,
  { serving: { requestId } }: InHand,
  input: CallInput = {},
): Call =>
  new RequestCall({ incoming, outgoing, requestId, principal, maxRawBytes: route.rawBody?.maxBytes ?? 0 }, input)

/** How the adapter is told that nothing is left to be sent. */
const alreadySent = new Response(null, { headers: { 'x-hono-already-sent': 'true' } })

function responding(c: Context<Env>, { parts, serving }: InHand) {
  const { principal, requestId } = serving
  const { outgoing } = c.env
  closeBehind(c, { parts, serving })
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
    sendEvents(headers: Readonly<Record<string, string>>, events: EventSource): Response {
      const leaveToken = principal === undefined ? () => {} : parts.throttle.enterStream(principal.tokenId)
      const leave = parts.drain.enterStream()
      serving.status = 200
      outgoing.writeHead(200, headers)
      streamEvents(events, outgoing, {
        limits: parts.limits,
        requestId,
        cut,
        delivery: () => parts.deliveries(outgoing.socket),
        stillGood: principal?.stillGood ?? (async () => true),
        onEnd: () => {
          leaveToken()
          leave()
        },
        signal: parts.drain.streams,
      }).catch(cut)
      return alreadySent
    },
  }
}

/** More of a body is still to come than is worth waiting for. */
function closeBehind(c: Context<Env>, { parts, serving }: InHand): void {
  if (parts.leftovers.closeBehind(c.env.incoming)) serving.headers['connection'] = 'close'
}

function refuse(c: Context<Env>, error: unknown, route: Route, { parts, serving }: InHand): Response {
  closeBehind(c, { parts, serving })
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
  const { outgoing } = c.env
  const told = problemOf(error, requestId)
  // Past the router: of a crowd that is refused, each would wait for a Response to be built and read again.
  sendProblem(outgoing, told, headers)
  serving.status = told.status
  return alreadySent
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

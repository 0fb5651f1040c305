// The HTTP face. It turns a request into a call of a route's handler and the answer into a response, in one order for all:
// host and origin, token, share of the server, turn (gate.ts), scope, input, record, work. A route cannot skip a step, since it only
// declares itself. It promises one shape for every error, an audit record before every change, and no secret in a log line. It must
// not know what any route does, nor which backends there are.
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { GloveboxError } from '../../errors/error.ts'
import type { Answer } from './answer.ts'
import { leaveBehind, refuse, responding, takePlace, tell } from './answering.ts'
import { requireScope } from './auth.ts'
import { type CallInput, nobody, RequestCall } from './call.ts'
import { originHeaders, preflightHeaders } from './guard.ts'
import type { AppParts, Env, InHand, Serving } from './in-hand.ts'
import type { Principal } from './principal.ts'
import { recorded, unrecorded } from './recorded.ts'
import { asksForEvents, check, queryOf, readBody, refuseQuery } from './request.ts'
import { respond } from './respond.ts'
import type { Call, Route } from './route.ts'
import { matcherOf } from './table.ts'

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
    leaveBehind(c, serving)
  }
  tell(c, route, { parts, serving, status: serving.status ?? response.status })
  return response
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
  refuseDraining(route, parts)
  // A path that is not there is told to whoever may ask at all.
  if (route.tag !== 'none') requireScope(principal, route.scope)
  return respond(await perform(c, route, principal, hand), responding(c, hand))
}

function refuseDraining({ whileDraining, method }: Route, { drain }: AppParts): void {
  if (drain.isDraining && !(whileDraining ?? method === 'get')) throw drain.refusal()
}

async function perform(c: Context<Env>, route: Route, principal: Principal, hand: InHand): Promise<Answer> {
  const { parts } = hand
  const { incoming } = c.env
  const url = incoming.url ?? ''
  if (route.tag === 'none') return route.handle(callOf(c, route, principal, hand), unrecorded)
  const params = check('path', route.params, c.req.param())
  if (route.query === undefined) refuseQuery(url)
  const query = check('query', route.query, route.query === undefined ? {} : queryOf(url))
  const share = parts.bodies.enter(principal.actor)
  try {
    const { value, bytes } = await readBody(incoming, route, { limits: parts.limits, share })
    // A body may take long to come.
    refuseDraining(route, parts)
    const input = { params, query, body: value, bytes, share }
    // Whoever is told that it has too many streams may ask again, so nothing is begun before.
    if (route.method !== 'get' && willBeFollowed(route, incoming)) takePlace(hand)
    if (route.isHeavy === true) return await performHeavy(c, route, principal, { hand, input })
    const call = callOf(c, route, principal, hand, input)
    return await (route.method === 'get' ? route.handle(call, unrecorded) : recorded(c.req.path, route, call, parts))
  } finally {
    share.leave()
  }
}

const willBeFollowed = ({ answers }: Route, { headers }: HttpBindings['incoming']): boolean =>
  asksForEvents(headers.accept) && Object.values(answers).some(({ events }) => events !== undefined)

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
    // It may have waited for long.
    refuseDraining(route, parts)
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

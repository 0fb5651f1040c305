// The way out of the app: an answer or a refusal becomes a response, is counted and is told in the log.
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { GloveboxError } from '../../errors/error.ts'
import { renderForOperator } from '../../errors/render.ts'
import type { EventSource } from './answer.ts'
import type { Env, InHand, Serving } from './in-hand.ts'
import { isFault, problemOf } from './problem.ts'
import { sendProblem } from './respond.ts'
import type { Route } from './route.ts'
import { streamEvents } from './sse.ts'

/** An answer is in hand until its last byte is taken. A stream has a place of its own. */
export function leaveBehind(c: Context<Env>, { place, isFollowed }: Serving): void {
  const { entry, outgoing } = c.env
  if (isFollowed === true) return entry.leave()
  place?.()
  whenOver(outgoing, entry.leave)
}

export const takePlace = ({ parts, serving }: InHand): (() => void) =>
  (serving.place ??= serving.principal === undefined ? () => {} : parts.throttle.enterStream(serving.principal.tokenId))

/** How the adapter is told that nothing is left to be sent. */
const alreadySent = new Response(null, { headers: { 'x-hono-already-sent': 'true' } })

export function responding(c: Context<Env>, { parts, serving }: InHand) {
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
    whenOver: (then: () => void): void => whenOver(outgoing, then),
    sendEvents(headers: Readonly<Record<string, string>>, events: EventSource): Response {
      const leaveToken = takePlace({ parts, serving })
      const leave = parts.drain.enterStream()
      serving.status = 200
      serving.isFollowed = true
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

function whenOver(outgoing: HttpBindings['outgoing'], then: () => void): void {
  if (outgoing.destroyed) then()
  else outgoing.once('close', then)
}

/** More of a body is still to come than is worth waiting for. */
function closeBehind(c: Context<Env>, { parts, serving }: InHand): void {
  if (parts.leftovers.closeBehind(c.env.incoming)) serving.headers['connection'] = 'close'
}

export function refuse(c: Context<Env>, error: unknown, route: Route, { parts, serving }: InHand): Response {
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

export function tell(
  c: Context<Env>,
  route: Route,
  { parts, serving, status }: InHand & { readonly status: number },
): void {
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

// What stands before the router: host and origin, token, share of the server, turn. Whoever asks for more than its share is answered
// here, before anything is routed, read, recorded or logged for it: a refusal must cost the server less than it costs the caller. Such
// refusals are counted, and told as their sum.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { GloveboxError } from '../../errors/error.ts'
import type { Authenticate } from './auth.ts'
import type { Drain } from './drain.ts'
import { guard, originHeaders, type GuardRules } from './guard.ts'
import type { Hold } from './hold.ts'
import type { Lanes } from './lanes.ts'
import type { Leftovers } from './leftovers.ts'
import type { RequestListener } from './listen.ts'
import type { Metrics } from './metrics.ts'
import type { Presence } from './presence.ts'
import type { Principal } from './principal.ts'
import { problemOf } from './problem.ts'
import { noRoute, type Refusals } from './refusals.ts'
import { newRequestId } from './request-id.ts'
import { sendProblem } from './respond.ts'
import type { Rounds } from './rounds.ts'
import type { Route } from './route.ts'
import type { Throttle } from './throttle.ts'
import { leaveUnread } from './unread.ts'

/** What is known of a request when it comes to its route. */
export interface Entry {
  readonly requestId: string
  readonly begun: number
  /** Of a page that may use the server. */
  readonly origin: string | undefined
  /** Undefined where none is asked for, and where the request is refused. */
  readonly principal: Principal | undefined
  /** To be told as any error, and recorded. */
  readonly refusal: Error | undefined
  /** To be called when its answer is over; of a stream, when it begins. */
  readonly leave: () => void
}

/** A refusal that is held. */
interface Waiting {
  readonly who: string
  readonly incoming: IncomingMessage
  readonly number: number
}

interface Asked extends Omit<Entry, 'leave'> {
  /** Counts requests as they come. */
  readonly number: number
}

export interface GateParts {
  readonly routes: readonly Route[]
  readonly rules: GuardRules
  readonly authenticate: Authenticate
  readonly throttle: Throttle
  readonly rounds: Rounds
  readonly presence: Pick<Presence, 'seen'>
  readonly hold: Hold
  readonly lanes: Pick<Lanes, 'refusalOf'>
  readonly leftovers: Leftovers
  readonly refusals: Refusals
  readonly metrics: Pick<Metrics, 'refused'>
  readonly drain: Pick<Drain, 'isDraining'>
}

export type Onward = (entry: Entry, incoming: IncomingMessage, outgoing: ServerResponse) => unknown

export function createGate(parts: GateParts, onward: Onward): RequestListener {
  const isOpen = requestsTo(parts.routes.filter(({ scope }) => scope === 'open'))
  const isHeavy = requestsTo(parts.routes.filter((route) => route.isHeavy === true))
  const waiting = new WeakMap<Socket, Waiting>()
  let count = 0
  /** Behind a refusal that is held. Nothing is begun there, since nothing could be answered: the connection ends with that refusal. */
  const isBehindHeld = ({ socket }: IncomingMessage, number: number): boolean => {
    if (parts.leftovers.isBehind(socket, number)) return true
    const held = waiting.get(socket)
    if (held === undefined || held.number > number) return false
    parts.hold.press(held.who)
    parts.leftovers.endBehind(held.incoming, held.number)
    return true
  }

  const admit = (given: Asked, incoming: IncomingMessage, outgoing: ServerResponse): void => {
    // One before it may have been held while it was asked whose token this is.
    if (isBehindHeld(incoming, given.number)) return
    const who = given.principal?.actor ?? addressOf(incoming)
    const leave = parts.throttle.enter(who)
    if (leave instanceof GloveboxError) return refuse(leave, { parts, waiting, who, given, incoming, outgoing })
    // Strangers make nobody wait.
    if (given.principal !== undefined) parts.presence.seen(who)
    const tooMany = isHeavy(incoming) ? parts.lanes.refusalOf(who) : undefined
    if (tooMany !== undefined) {
      leave()
      return refuse(tooMany, { parts, waiting, who, given, incoming, outgoing })
    }
    parts.rounds.begin(who, () => {
      // Whoever has gone since is not waited for, and nothing is begun for it.
      if (incoming.socket.destroyed) leave()
      else onward({ ...given, leave }, incoming, outgoing)
    })
  }

  return (incoming, outgoing) => {
    if (parts.leftovers.isClosing(incoming.socket)) return
    const number = ++count
    if (isBehindHeld(incoming, number)) return
    const requestId = newRequestId()
    const begun = performance.now()
    const known = { number, requestId, begun, origin: undefined, principal: undefined, refusal: undefined }
    const { method = '', url = '', rawHeaders, headers } = incoming
    let origin: string | undefined
    try {
      origin = guard({ method, url, rawHeaders }, parts.rules)
    } catch (why) {
      return admit({ ...known, refusal: asError(why) }, incoming, outgoing)
    }
    if (isOpen(incoming) || (method === 'OPTIONS' && origin !== undefined))
      return onward({ ...known, origin, leave: () => {} }, incoming, outgoing)
    const principal = parts.authenticate(headers.authorization)
    if (!(principal instanceof Promise)) return admit({ ...known, origin, principal }, incoming, outgoing)
    return principal.then(
      (found) => admit({ ...known, origin, principal: found }, incoming, outgoing),
      (why: unknown) => admit({ ...known, origin, refusal: asError(why) }, incoming, outgoing),
    )
  }
}

/** By their very address. Whatever else leads to a route is told from others when it is routed, and asked for a token before. */
function requestsTo(routes: readonly Route[]): (request: IncomingMessage) => boolean {
  const known = new Set(routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`))
  return ({ method = '', url = '' }) => {
    const query = url.indexOf('?')
    return known.has(`${method === 'HEAD' ? 'GET' : method} ${query < 0 ? url : url.slice(0, query)}`)
  }
}

const asError = (why: unknown): Error => (why instanceof Error ? why : new Error(String(why)))

/** Whoever has no token in force. */
export const addressOf = ({ socket }: IncomingMessage): string => `address:${socket.remoteAddress ?? 'local'}`
const isAddress = (who: string): boolean => who.startsWith('address:')

interface Refused {
  readonly parts: GateParts
  readonly waiting: WeakMap<Socket, Waiting>
  readonly who: string
  readonly given: Asked
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

function refuse(error: GloveboxError, refused: Refused): void {
  const { parts, who, given, incoming } = refused
  const actor = isAddress(who) ? 'nobody' : who
  parts.metrics.refused()
  parts.refusals.note({ code: error.code, actor, route: noRoute, requestId: given.requestId })
  let goOn = (): void => {}
  const way = parts.hold.refuse(who, incoming.socket, () => {
    goOn()
    sendRefusal(error, refused)
  })
  if (way === 'held') goOn = leaveWaiting(refused)
}

/** Returns what is to be done before it is answered. */
function leaveWaiting({ parts, waiting, who, given: { number }, incoming }: Refused): () => void {
  const { socket } = incoming
  const readAgain = leaveUnread(socket)
  waiting.set(socket, { who, incoming, number })
  return () => {
    waiting.delete(socket)
    if (parts.leftovers.isClosing(socket)) return
    // What has come meanwhile would only be read to be refused.
    if (parts.hold.hasPressed(who)) parts.leftovers.endBehind(incoming, number)
    else readAgain()
  }
}

function sendRefusal(error: GloveboxError, { parts, given, incoming, outgoing }: Refused): void {
  const { requestId, origin } = given
  const ends = parts.leftovers.closeBehind(incoming) || parts.drain.isDraining
  sendProblem(outgoing, problemOf(error, requestId), {
    'x-request-id': requestId,
    ...(origin === undefined ? {} : originHeaders(origin)),
    ...(ends ? { connection: 'close' } : {}),
  })
}

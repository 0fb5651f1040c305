// The way to a WebSocket: the same steps in the same order as for any request, and all of them before anything is upgraded: host and
// origin, token or ticket, share of the server, scope, input, record. What is refused is answered as HTTP.
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { GloveboxError } from '../../errors/error.ts'
import { renderForOperator } from '../../errors/render.ts'
import type { AppParts } from './in-hand.ts'
import { requireScope } from './auth.ts'
import { addressOf, type GateParts } from './gate.ts'
import { guard } from './guard.ts'
import { hasBody, requireHandshake } from './handshake.ts'
import type { Principal } from './principal.ts'
import { isFault, problemOf } from './problem.ts'
import { leave, refuseOnSocket } from './raw-answer.ts'
import { newRequestId } from './request-id.ts'
import { check, queryOf, refuseQuery } from './request.ts'
import type { Call, Route } from './route.ts'
import { serveSocket, type Attached } from './socket.ts'
import { paramsIn } from './table.ts'
import type { Tickets } from './tickets.ts'

export type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void

interface UpgradeParts
  extends
    Omit<AppParts, 'metrics' | 'leftovers' | 'lanes' | 'bodies' | 'throttle'>,
    Pick<GateParts, 'authenticate' | 'rules' | 'throttle'> {
  readonly tickets: Tickets
  /** For a request that offers to go on in another protocol than this one, and need not be taken at its word. */
  readonly onRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => unknown
}

export const terminalProtocol = 'glovebox.terminal.v1'
const ticketPrefix = 'glovebox.ticket.'
/** More than anybody types or pastes at a time; a client cuts what is longer. */
const mostMessageBytes = 64 * 1024

export function createUpgrader(parts: UpgradeParts): UpgradeListener {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: mostMessageBytes,
    // SECURITY: a few bytes could inflate to many. test/e2e/server-shells: "a message beyond the limit ends the connection, and so does one that means nothing"
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(terminalProtocol) ? terminalProtocol : false),
  })
  return (incoming, socket, head) => {
    // SECURITY: Node has taken its own listener away, and without one whoever resets the connection ends the process.
    // test/e2e/server-upgrades: "and resets the connection behind the answer leaves the server as it was: %s"
    socket.on('error', () => {})
    const requestId = newRequestId()
    if (!isWebSocket(incoming)) return answerPlainly(incoming, socket, { requestId, parts })
    const asking: Asking = { requestId, parts }
    void admit(incoming, asking).then(
      (admitted) => {
        if (socket.destroyed) return admitted.leave()
        socket.once('close', admitted.leave)
        sockets.handleUpgrade(incoming, socket, head, (upgraded) => void follow(upgraded, admitted, requestId, parts))
      },
      (error: unknown) => refuse(error, { ...asking, socket, incoming }),
    )
  }
}

const isWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket'

/** Some clients offer HTTP/2 with every request. Node hands such a request over without its body, so only one that has none can be
 * answered. What Node does for a connection that it keeps is done here: it is read, ends with whoever leaves, and tells when there is room
 * for more of the answer. */
function answerPlainly(incoming: IncomingMessage, socket: Duplex, asking: Asking): void {
  if (hasBody(incoming)) return refuse(unknownUpgrade(), { ...asking, socket, incoming })
  const outgoing = new ServerResponse(incoming)
  outgoing.shouldKeepAlive = false
  outgoing.assignSocket(socket as Socket)
  socket.on('drain', () => outgoing.emit('drain'))
  socket.once('end', () => socket.destroy())
  socket.resume()
  outgoing.once('finish', () => {
    socket.end()
    leave(socket)
  })
  asking.parts.onRequest(incoming, outgoing)
}

/** What is known of a request for a WebSocket while it is looked at. */
interface Asking {
  readonly requestId: string
  readonly parts: UpgradeParts
  principal?: Principal
}

interface Admitted {
  readonly attached: Attached
  readonly principal: Principal
  readonly leave: () => void
}

async function admit(incoming: IncomingMessage, asking: Asking): Promise<Admitted> {
  const { requestId, parts } = asking
  const url = incoming.url ?? ''
  const path = url.split('?', 1)[0] ?? ''
  const principal = await recognise(incoming, path, asking)
  const found = routeFor(path, parts.routes)
  if (parts.drain.isDraining) throw parts.drain.refusal()
  const { route, given } = found ?? missing()
  requireHandshake(incoming)
  if (route.scope !== 'open') requireScope(principal, route.scope)
  if (route.query === undefined) refuseQuery(url)
  const call = callOf(incoming, {
    requestId,
    principal,
    params: check('path', route.params, given),
    query: check('query', route.query, route.query === undefined ? {} : queryOf(url)),
  })
  const leave = parts.throttle.enterStream(principal.tokenId)
  try {
    const attached = await record(route, call, path, parts)
    return { attached, principal, leave }
  } catch (error) {
    leave()
    throw error
  }
}

/** Whoever asks has used a request, as with any other; strangers have theirs together with those of their address. */
async function recognise(incoming: IncomingMessage, path: string, asking: Asking): Promise<Principal> {
  const { parts } = asking
  try {
    requireOrigin(incoming, parts)
    return (asking.principal = await identify(incoming, path, parts))
  } finally {
    countAsRequest(asking.principal?.actor ?? addressOf(incoming), parts)
  }
}

function requireOrigin({ method = '', url = '', rawHeaders }: IncomingMessage, { rules }: UpgradeParts): void {
  // SECURITY: a page of another site can open a WebSocket to anywhere, and no preflight asks before. Browsers always say where
  // they come from, and others can. test/e2e/server-shells: "a WebSocket without an origin, or from a foreign one, is refused"
  if (guard({ method, url, rawHeaders }, rules) === undefined) throw withoutOrigin()
}

/** It is over with the answer; what is upgraded then counts as a stream. Throws TOO_MANY_REQUESTS in place of any other refusal. */
function countAsRequest(who: string, { throttle }: UpgradeParts): void {
  const leave = throttle.enter(who)
  if (leave instanceof GloveboxError) throw leave
  leave()
}

/** By a token in the header, or by a ticket among the protocols, where a page can put one. */
async function identify(incoming: IncomingMessage, path: string, parts: UpgradeParts): Promise<Principal> {
  const { authorization } = incoming.headers
  const offered = (incoming.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const ticket = offered.find((name) => name.startsWith(ticketPrefix))?.slice(ticketPrefix.length)
  const principal =
    authorization === undefined && ticket !== undefined
      ? parts.tickets.redeem(ticket, path)
      : await parts.authenticate(authorization)
  if (principal !== undefined && (await principal.stillGood())) return principal
  throw new GloveboxError('UNAUTHENTICATED', 'Cannot answer: the ticket is not known, was used, or is too old', {
    hint: 'Ask for a new one, and use it once and at once.',
  })
}

function routeFor(path: string, routes: readonly Route[]) {
  for (const route of routes) {
    const given = route.attach === undefined ? undefined : paramsIn(route.path, path)
    if (given !== undefined) return { route, given }
  }
  return undefined
}

async function record(route: Route, call: Call<unknown, unknown, undefined>, path: string, parts: UpgradeParts) {
  const { principal, requestId } = call
  const intent = await parts.audit.begin({
    actor: principal.actor,
    action: route.audit ?? `${route.tag}.attach`,
    subject: path.slice(0, 512),
    data: { requestId, project: principal.project },
  })
  try {
    const attached = await (route.attach as NonNullable<Route['attach']>)(call)
    await intent.done({})
    return attached
  } catch (error) {
    await intent.failed({ code: error instanceof GloveboxError ? error.code : 'INTERNAL' })
    throw error
  }
}

function callOf(
  incoming: IncomingMessage,
  known: Pick<Call, 'requestId' | 'principal' | 'params' | 'query'>,
): Call<unknown, unknown, undefined> {
  return {
    ...known,
    body: undefined,
    bodySha256: '',
    signal: new AbortController().signal,
    header: (name) => {
      const value = incoming.headers[name]
      return Array.isArray(value) ? value[0] : value
    },
    isOfCrowd: false,
    taken: Promise.resolve(),
    holdBodyUntil: () => {},
    bytes: () => Promise.resolve(new Uint8Array()),
  }
}

async function follow(
  socket: WebSocket,
  { attached, principal }: Admitted,
  requestId: string,
  { limits, drain, log }: UpgradeParts,
): Promise<void> {
  log.info({ requestId, tokenId: principal.tokenId }, 'attached')
  try {
    await serveSocket(socket, attached, {
      limits,
      requestId,
      stillGood: principal.stillGood,
      signal: drain.streams,
    })
  } catch (error) {
    log.error({ requestId, ...renderForOperator(error) }, 'a connection broke')
    socket.terminate()
  }
}

interface Refusing extends Asking {
  readonly socket: Duplex
  readonly incoming: IncomingMessage
}

function refuse(error: unknown, { socket, requestId, parts, incoming, principal }: Refusing): void {
  const { log, refusals } = parts
  const route = routeFor((incoming.url ?? '').split('?', 1)[0] ?? '', parts.routes)?.route.path ?? '/*'
  if (error instanceof GloveboxError)
    refusals.note({ code: error.code, actor: principal?.actor ?? 'nobody', route: `attach ${route}`, requestId })
  if (isFault(error)) log.error({ requestId, ...renderForOperator(error) }, 'a request could not be answered')
  refuseOnSocket(socket, problemOf(error, requestId))
}

const unknownUpgrade = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot answer: the request offers an upgrade that is not known', {
    hint: 'Send it as HTTP/1.1 without Upgrade.',
  })

const withoutOrigin = (): GloveboxError =>
  new GloveboxError('ORIGIN_NOT_ALLOWED', 'Cannot answer: a WebSocket must say where it comes from', {
    hint: "Send an Origin: the server's own address is always allowed.",
  })

function missing(): never {
  throw new GloveboxError('NOT_FOUND', 'Cannot answer: no WebSocket is served at this path', {
    hint: 'The paths are listed at /openapi.json.',
  })
}

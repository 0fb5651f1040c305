// The socket. Node's own parser refuses what two readers could read differently (two lengths, bare line feeds, folded
// headers); what it refuses is told in our one shape, and whoever sends too slowly is not waited for.
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { Duplex } from 'node:stream'
import { GloveboxError } from '../../errors/error.ts'
import type { ErrorCode } from '../../errors/table.ts'
import { createArrivals, type Arrivals } from './arrivals.ts'
import type { Deliveries } from './deliveries.ts'
import type { Limits } from './limits.ts'
import { createPatience } from './patience.ts'
import { problemOf } from './problem.ts'
import { refuseOnSocket } from './raw-answer.ts'
import { newRequestId } from './request-id.ts'
import { createSurplus, readDescriptorLimit, shareOfConnections, type Accepted, type Surplus } from './surplus.ts'
import type { UpgradeListener } from './upgrade.ts'

export type Place = { readonly host: string; readonly port: number } | { readonly socket: string }
export type RequestListener = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown

export interface Listening {
  /** With the port that was really taken. Undefined on a socket file. */
  readonly port: number | undefined
  /** Takes no connection any more; settles when the last one is closed. */
  close(): Promise<void>
  closeNow(): void
}

const slowlyMs = 1000
/** Connections that wait to be accepted. Beyond them the kernel drops whoever comes, and a caller tries again a second later: a crowd of
 * one caller must not fill this place for the others. The kernel's own limit counts too. */
const backlog = 4096

export interface Listeners {
  readonly onRequest: RequestListener
  readonly onUpgrade: UpgradeListener
  /** What could not be read as a request was refused. */
  readonly onUnreadable: (code: ErrorCode, requestId: string) => void
  /** Who asks for something, and would wait for a crowd. */
  readonly isAnybodyThere: () => boolean
  /** So many connections were sent away since the last time, for want of descriptors. */
  readonly onSentAway: (count: number) => void
  readonly deliveries: Deliveries
  /** An answer was cut off, whose reader takes nothing. */
  readonly onStalled: () => void
  /** The listening socket has a fault that it survives. */
  readonly onFault: (error: Error) => void
}

export async function listen(
  place: Place,
  { onRequest, onUpgrade, onUnreadable, isAnybodyThere, onSentAway, deliveries, onStalled, onFault }: Listeners,
  limits: Limits,
): Promise<Listening> {
  const arrivals = createArrivals({ isAnybodyThere, mostWaiting: limits.connections })
  const lookAtSilence = createPatience({ deliveries, onStalled })
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    arrivals.heard(incoming.socket)
    outgoing.on('timeout', lookAtSilence)
    void onRequest(incoming, outgoing)
  }
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.min(slowlyMs, limits.headersMs),
      keepAliveTimeout: limits.keepAliveMs,
      // Node would answer such a request itself, with nothing but a status; guard.ts refuses it in our words.
      requireHostHeader: false,
      // SECURITY: the lenient parser accepts what smuggling is made of.
      // test/e2e/server-transport: "what two readers could read differently is refused"
      insecureHTTPParser: false,
    },
    answer,
  )
  // The same for one that expects something else than to go on: what it expects is not looked at.
  server.on('checkExpectation', answer)
  server.maxConnections = limits.connections
  // Of a connection on which nothing moves. While it is answered, who answers looks.
  server.timeout = limits.stalledMs
  server.on('clientError', (error: ParseError, socket) => {
    arrivals.heard(socket)
    refuseUnread(error, socket, onUnreadable)
  })
  server.on('upgrade', (incoming: IncomingMessage, stream, head) => {
    // Before all of a body has come, later versions of Node give a stream around the connection, which breaks with it.
    const { socket } = incoming
    stream.on('error', () => {})
    socket.on('timeout', () => lookAtSilence(socket))
    arrivals.heard(socket)
    // SECURITY: Node has let go of the connection, so the answer that is under way on it would have no end; and it takes no second one.
    // test/e2e/server-upgrades: "behind a request that is not answered yet ends its connection, and nothing else"
    if (answerOn(socket) !== undefined) socket.destroy()
    else onUpgrade(incoming, socket, head)
  })
  await open(server, place)
  // Without a listener an error of the socket would end the process.
  server.on('error', seldom(onFault))
  const connected = connectionsOf(server)
  const listener = listenerOf(server)
  const surplus = createSurplus({
    from: shareOfConnections(listener.fd ?? 0, readDescriptorLimit()),
    closeOne: newestFirst(connected),
    onSentAway,
  })
  paceArrivals(server, listener, { arrivals, surplus })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : undefined,
    close: () =>
      new Promise((resolve) => {
        arrivals.beginAll()
        server.close(() => {
          surplus.close()
          resolve()
        })
        server.closeIdleConnections()
      }),
    // Node knows nothing any more of those that were handed over with an offer of another protocol.
    closeNow: () => {
      for (const socket of connected) socket.destroy()
    },
  }
}

/** What Node keeps of a listening socket. It calls `onconnection` once for each connection that the kernel hands over, and does not turn to
 * anybody else before the last of them. */
interface Listener {
  readonly fd?: number
  onconnection: (status: number, client?: Accepted) => void
}

function listenerOf(server: Server): Listener {
  const { _handle: listener } = server as Server & { readonly _handle?: Partial<Listener> | null }
  if (listener?.onconnection === undefined)
    throw new Error('this version of Node keeps its listening sockets in another way')
  return listener as Listener
}

/** Node's own `onconnection` makes a socket of a connection and begins to read it, which takes long enough for the next ones to come. Only
 * the descriptor is taken at once; the rest has its turn. */
function paceArrivals(server: Server, listener: Listener, { arrivals, surplus }: Arriving): void {
  const accept = listener.onconnection
  let made: Socket | undefined
  server.on('connection', (socket) => (made = socket))
  const begin = (status: number, client: Accepted): Socket | undefined => {
    made = undefined
    Reflect.apply(accept, listener, [status, client])
    return made
  }
  listener.onconnection = (status, client) => {
    if (client === undefined && outOfDescriptors.has(-status)) surplus.makeRoom()
    else if (client === undefined) Reflect.apply(accept, listener, [status])
    else if (!surplus.sendAway(client))
      arrivals.come({ begin: () => begin(status, client), close: () => client.close() })
  }
}

const outOfDescriptors: ReadonlySet<number> = new Set([constants.errno.EMFILE, constants.errno.ENFILE])

interface Arriving {
  readonly arrivals: Arrivals
  readonly surplus: Surplus
}

/** Not a line for each, where there may be thousands. */
function seldom<Value>(tell: (value: Value) => void): (value: Value) => void {
  let toldAt = Number.NEGATIVE_INFINITY
  return (value) => {
    if (performance.now() - toldAt < slowlyMs) return
    toldAt = performance.now()
    tell(value)
  }
}

/** In the order in which they came. */
function connectionsOf(server: Server): Set<Socket> {
  const connected = new Set<Socket>()
  server.on('connection', (socket) => {
    connected.add(socket)
    socket.once('close', () => connected.delete(socket))
  })
  return connected
}

/** Closes one connection each time it is called: whoever came last has the least to lose. */
function newestFirst(connected: Set<Socket>): () => boolean {
  return () => {
    const newest = [...connected].at(-1)
    if (newest === undefined) return false
    connected.delete(newest)
    newest.destroy()
    return true
  }
}

function open(server: Server, place: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException): void => reject(cannotListen(error))
    server.once('error', refuse)
    server.once('listening', () => server.off('error', refuse))
    if ('port' in place) {
      server.listen(place.port, place.host, backlog, resolve)
      return
    }
    // A file that a killed server left would be in the way.
    rmSync(place.socket, { force: true })
    server.listen(place.socket, () => {
      // SECURITY: whoever may connect may try tokens; on a socket file that is its owner.
      // test/e2e/server-start: "a socket file is its owner's alone"
      chmodSync(place.socket, 0o600)
      resolve()
    })
  })
}

function cannotListen(error: NodeJS.ErrnoException): GloveboxError {
  const isTaken = error.code === 'EADDRINUSE'
  return new GloveboxError(
    isTaken ? 'BUSY' : 'NOT_PERMITTED',
    `Cannot listen: ${isTaken ? 'the port is taken' : 'the address cannot be used'}`,
    {
      hint: 'Choose another one with --port or --host; --port 0 takes any that is free.',
      operatorDetail: error.message,
    },
  )
}

interface ParseError extends Error {
  readonly code?: string
  readonly rawPacket?: Buffer
}

/** Nothing was routed, so there is no request to answer: the words go to the socket as they are. */
function refuseUnread(error: ParseError, socket: Duplex, onUnreadable: Listeners['onUnreadable']): void {
  if (error.code === 'ECONNRESET' || !socket.writable || hasBegun(socket)) {
    socket.destroy()
    return
  }
  const requestId = newRequestId()
  const refusal = unreadable(error)
  onUnreadable(refusal.code, requestId)
  refuseOnSocket(socket, problemOf(refusal, requestId))
}

/** An answer that is under way must not be mixed with another. */
const hasBegun = (socket: Duplex): boolean => answerOn(socket)?.headersSent === true

/** What Node keeps of the request that is being answered. */
const answerOn = (socket: Duplex & { readonly _httpMessage?: ServerResponse | null }): ServerResponse | undefined =>
  socket._httpMessage ?? undefined

function unreadable({ code, rawPacket }: ParseError): GloveboxError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new GloveboxError('TIMED_OUT', 'Cannot read the request: it came too slowly')
  if (code !== 'HPE_HEADER_OVERFLOW')
    return new GloveboxError('INVALID_INPUT', 'Cannot read the request: it is not well-formed HTTP')
  // A request line that does not end within the limit is an address; one that does has large headers behind it.
  const isAddress = rawPacket !== undefined && !rawPacket.subarray(0, 16 * 1024).includes('\r\n')
  return isAddress
    ? new GloveboxError('URI_TOO_LONG', 'Cannot read the request: its address is too long')
    : new GloveboxError('HEADERS_TOO_LARGE', 'Cannot read the request: its headers are too large')
}

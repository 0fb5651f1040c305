// A WebSocket as its route sees it: messages in, frames out, one at a time. Nothing is buffered for a slow reader beyond the frame
// that it is being sent, and nothing is read from a hasty writer beyond what its route has taken.
import type { WebSocket } from 'ws'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import type { Limits } from './limits.ts'
import { problemOf } from './problem.ts'

export type SocketMessage = { readonly text: string } | { readonly bytes: Uint8Array }

export interface RouteSocket {
  /** Aborted with the connection, whoever ends it. */
  readonly signal: AbortSignal
  /** Settles when the connection has taken it. */
  readonly send: (frame: string | Uint8Array) => Promise<void>
}

/** What a route does with a connection. */
export interface Attached {
  /** Until it settles the connection is open. What it throws is told to the reader as its last word. */
  talk(socket: RouteSocket): Promise<void>
  /** The next message is read when the last one's has settled. */
  take(message: SocketMessage): Promise<void>
  /** Called while the connection lives. */
  onHeartbeat?(): void
}

export interface SocketParts {
  readonly limits: Pick<Limits, 'heartbeatMs' | 'stalledMs'>
  readonly requestId: string
  readonly stillGood: () => Promise<boolean>
  /** The server ends: so do its sockets. */
  readonly signal: AbortSignal
}

// RFC 6455: normal, going away, policy, internal.
const status = { done: 1000, leaving: 1001, refused: 1008, fault: 1011 } as const

/** Settles when the connection is over. */
export async function serveSocket(socket: WebSocket, attached: Attached, parts: SocketParts): Promise<void> {
  const gone = new AbortController()
  const end = (code: number, reason: string): void => {
    socket.close(code, reason)
    // Whoever does not answer the farewell is not waited for.
    setTimeout(() => socket.terminate(), farewellMs).unref()
  }
  const refuse = async (cause: unknown): Promise<void> => {
    const { text, status: http } = problemOf(cause, parts.requestId)
    const { error: told } = JSON.parse(text) as { readonly error: { readonly code: string } }
    await send(JSON.stringify({ type: 'error', error: told })).catch(() => {})
    end(http >= 500 ? status.fault : status.refused, told.code)
  }
  const send = (frame: string | Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      // SECURITY: a reader that takes nothing is let go, and comes back behind what it has.
      // test/e2e/server-shells: "a reader that takes nothing is let go, and the terminal goes on"
      const stalled = setTimeout(() => socket.terminate(), parts.limits.stalledMs)
      socket.send(frame, (error) => {
        clearTimeout(stalled)
        if (error === undefined || error === null) resolve()
        else reject(error)
      })
    })

  socket.on('error', () => {})
  socket.once('close', () => gone.abort())
  const leave = (): void => end(status.leaving, 'DRAINING')
  if (parts.signal.aborted) leave()
  parts.signal.addEventListener('abort', leave, { once: true })
  takeInOrder(socket, attached, refuse)
  const beat = heartbeat(socket, attached, { ...parts, refuse })
  try {
    await attached.talk({ signal: gone.signal, send })
    end(status.done, '')
  } catch (error) {
    if (!gone.signal.aborted) await refuse(error)
  }
  if (!gone.signal.aborted) await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(beat)
  parts.signal.removeEventListener('abort', leave)
}

const farewellMs = 2000

/** SECURITY: while a message is being taken, no further one is read, so a writer that nobody reads costs one message.
 * test/e2e/server-shells: "a writer whose program reads nothing is made to wait" */
function takeInOrder(socket: WebSocket, attached: Attached, refuse: (error: unknown) => Promise<void>): void {
  let turn: Promise<void> = Promise.resolve()
  let waiting = 0
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    waiting += 1
    socket.pause()
    turn = turn
      .then(() => attached.take(isBinary ? { bytes: data } : { text: data.toString('utf8') }))
      .catch(refuse)
      .finally(() => {
        waiting -= 1
        if (waiting === 0 && socket.isPaused) socket.resume()
      })
  })
}

interface Beating extends SocketParts {
  readonly refuse: (error: unknown) => Promise<void>
}

/** A connection whose other end is gone without a word is noticed by its silence, and a token that was revoked by asking. */
function heartbeat(socket: WebSocket, attached: Attached, { limits, stillGood, refuse }: Beating): NodeJS.Timeout {
  let heardAt = performance.now()
  let vouchedAt = heardAt
  const heard = (): void => {
    heardAt = performance.now()
  }
  socket.on('pong', heard)
  socket.on('message', heard)
  const vouch = async (): Promise<void> => {
    attached.onHeartbeat?.()
    if (!(await stillGood())) throw revoked()
    vouchedAt = performance.now()
  }
  // SECURITY: a database that is away for a moment ends no terminal, and one that is away for long leaves no token unasked for.
  // src/server/http/socket.test.ts: "a connection outlives a token that cannot be asked for, but not for longer than a silent reader"
  const doubt = async (error: unknown): Promise<void> => {
    const isPassing = isGloveboxError(error) && error.kind.retryable
    if (!isPassing || performance.now() - vouchedAt > limits.stalledMs) await refuse(error)
  }
  return setInterval(() => {
    // One that is not being read may have answered all the same.
    if (socket.isPaused) heard()
    if (performance.now() - heardAt > limits.stalledMs) return socket.terminate()
    socket.ping()
    void vouch().catch(doubt)
  }, limits.heartbeatMs).unref()
}

const revoked = (): GloveboxError =>
  new GloveboxError('TOKEN_REVOKED', 'Cannot go on: the token is no longer in force', { hint: 'Use another token.' })

// What is left of a body when its request has been answered. A little is read and thrown away, and the connection goes on. For more,
// the answer says that the connection ends; it is closed gently, since a connection with something unread in it would be reset, and
// the answer lost with it: so much is still read, for so long, and no more. Where the operator's limits end a connection, what came behind
// its last request is not read at all.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { leaveUnread } from './unread.ts'

const littleBytes = 64 * 1024
const lastBytes = 256 * 1024
const lastMs = 1000

/** Of connections that end: what comes on them now is no request any more. */
export interface Leftovers {
  /** True if the answer must say `connection: close`; the connection then ends behind it. */
  closeBehind(incoming: IncomingMessage): boolean
  /** The connection ends behind this request's answer, whose number this is. What came behind it is not read. */
  endBehind(incoming: IncomingMessage, number: number): void
  isClosing(socket: Socket): boolean
  /** Of a request that had come when it was not closing yet. */
  isBehind(socket: Socket, number: number): boolean
}

export function createLeftovers(): Leftovers {
  /** With the last request of each. */
  const closing = new WeakMap<Socket, { readonly last: IncomingMessage; readonly number: number }>()
  return {
    closeBehind(incoming) {
      const { socket } = incoming
      const known = closing.get(socket)
      // What came before it on the same connection is still answered.
      if (known !== undefined) return known.last === incoming
      if (!isMuch(incoming)) return false
      // Nothing can have come behind a body that was not read to its end.
      closing.set(socket, { last: incoming, number: Number.POSITIVE_INFINITY })
      // Node calls this when the last answer of a connection has been written.
      socket.destroySoon = () => endGently(incoming)
      return true
    },
    endBehind(incoming, number) {
      const { socket } = incoming
      closing.set(socket, { last: incoming, number })
      leaveUnread(socket)
      socket.destroySoon = () => endUnread(socket)
    },
    isClosing: (socket) => closing.has(socket),
    isBehind: (socket, number) => number > (closing.get(socket)?.number ?? Number.POSITIVE_INFINITY),
  }
}

const isMuch = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > littleBytes)

/** Whoever sent more is given the time to read its answer. */
function endUnread(socket: Socket): void {
  const timer = setTimeout(() => void socket.destroy(), lastMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end()
}

function endGently(incoming: IncomingMessage): void {
  const { socket } = incoming
  const destroy = (): void => void socket.destroy()
  const timer = setTimeout(destroy, lastMs).unref()
  socket.once('close', () => clearTimeout(timer))
  let read = 0
  incoming.on('error', () => {})
  incoming.once('end', destroy)
  incoming.on('data', (chunk: Buffer) => {
    read += chunk.length
    if (read > lastBytes) incoming.pause()
  })
  incoming.resume()
  socket.end()
}

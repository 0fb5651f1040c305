// What is left of a body when its request has been answered. A little is read and thrown away, and the connection goes on. For more,
// the answer says that the connection ends; it is closed gently, since a connection with something unread in it would be reset, and
// the answer lost with it: so much is still read, for so long, and no more.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const littleBytes = 64 * 1024
const lastBytes = 256 * 1024
const lastMs = 1000

/** Of connections that end: what comes on them now is no request any more. */
export interface Leftovers {
  /** True if the answer must say `connection: close`; the connection then ends behind it. */
  closeBehind(incoming: IncomingMessage): boolean
  isClosing(socket: Socket): boolean
}

export function createLeftovers(): Leftovers {
  /** By the last request of each. */
  const closing = new WeakMap<Socket, IncomingMessage>()
  return {
    closeBehind(incoming) {
      const { socket } = incoming
      const last = closing.get(socket)
      // What came before it on the same connection is still answered.
      if (last !== undefined) return last === incoming
      if (!isMuch(incoming)) return false
      closing.set(socket, incoming)
      // Node calls this when the last answer of a connection has been written.
      socket.destroySoon = () => endGently(incoming)
      return true
    },
    isClosing: (socket) => closing.has(socket),
  }
}

const isMuch = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > littleBytes)

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

// A connection of which nothing is read for a while, or for good. To pause it is not enough: Node goes on reading as soon as something was
// answered on it that had come before.
import type { Socket } from 'node:net'

/** Returns what lets it be read again. */
export function leaveUnread(socket: Socket): () => void {
  const stop = (): void => void socket.pause()
  socket.on('resume', stop)
  stop()
  return () => {
    socket.off('resume', stop)
    socket.resume()
  }
}

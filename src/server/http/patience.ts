// With whoever takes nothing of an answer. A connection on which nothing was read or written for `stalledMs` is looked at: one that has
// nothing to send waits for its handler, and may do so for long; one whose reader has taken nothing since the last look is cut off. It costs
// an answer nothing, since Node keeps that time anyway.
import type { Socket } from 'node:net'
import type { Deliveries } from './deliveries.ts'

interface PatienceParts {
  readonly deliveries: Deliveries
  readonly onStalled: () => void
}

/** Called with a connection that is being answered, whenever nothing has moved on it for so long. */
export function createPatience({ deliveries, onStalled }: PatienceParts): (socket: Socket) => void {
  const arrived = new WeakMap<Socket, number>()
  return (socket) => {
    if (socket.writableLength === 0) return
    // The kernel takes more of us only when much of what it has was taken from it: until then a slow reader looks like none.
    const arrivedBytes = deliveries(socket)?.arrivedBytes
    if (arrivedBytes !== undefined && arrivedBytes !== arrived.get(socket)) {
      arrived.set(socket, arrivedBytes)
      socket.setTimeout(socket.timeout ?? 0)
      return
    }
    onStalled()
    socket.destroy()
  }
}

// New connections, a few in each turn of the event loop. The kernel hands over all that wait at once, and each brings a request with it:
// a thousand of them would be a tenth of a second in which nobody else is answered. Who they are is not known before they are read; so of
// a crowd that waits the first and the last come in by turns, and whoever connects behind a thousand of another's does not wait for those.
import type { Socket } from 'node:net'

export interface Arrivals {
  /** Now, if few have come in this turn; else in one of the next. */
  come(socket: Socket, begin: () => void): void
  /** Closes those that wait. */
  closeNow(): void
}

/** The one that has waited longest, and the one that has come last. */
const inOneTurn = 2

interface Waiting {
  readonly socket: Socket
  readonly begin: () => void
}

export function createArrivals(nextTurn: (turn: () => void) => unknown = setImmediate): Arrivals {
  const waiting: Waiting[] = []
  let begun = 0
  let isComing = false

  const turn = (): void => {
    isComing = false
    begun = 0
    for (const one of [waiting.shift(), waiting.pop()]) if (one !== undefined) start(one)
  }
  const start = ({ socket, begin }: Waiting): void => {
    begun += 1
    if (!isComing) {
      isComing = true
      nextTurn(turn)
    }
    if (!socket.destroyed) begin()
  }
  return {
    come(socket, begin) {
      if (begun < inOneTurn && waiting.length === 0) start({ socket, begin })
      else waiting.push({ socket, begin })
    },
    closeNow() {
      for (const { socket } of waiting.splice(0)) socket.destroy()
    },
  }
}

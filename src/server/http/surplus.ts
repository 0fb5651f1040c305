// Connections that this process has no descriptor to spare for. Everything behind a connection needs descriptors as well: a command its
// pipes, a record its file. So a share of them is kept from connections: whoever comes beyond it is told so and sent away. The kernel
// gives the lowest number that is free, so that the number of a new connection tells how many are in use.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { Socket, type SocketConstructorOpts } from 'node:net'
import { GloveboxError } from '../../errors/error.ts'
import { problemOf } from './problem.ts'
import { refuseOnSocket } from './raw-answer.ts'
import { newRequestId } from './request-id.ts'

/** What Node keeps of a connection before it is a socket. */
export interface Accepted {
  readonly fd?: number
  close(): void
}

export interface Surplus {
  /** False: there is room for it. Else it is told that there is none, and closed. */
  sendAway(client: Accepted): boolean
  /** One that waits could not be taken for want of a descriptor. There is one when this returns. */
  makeRoom(): void
  close(): void
}

export interface SurplusRules {
  /** Those of this number and above. */
  readonly from: number
  /** Closes any one connection, at once; false if there is none. */
  readonly closeOne: () => boolean
  /** How many it were since the last time. */
  readonly onSentAway: (count: number) => void
}

/** What can be told of descriptors, replaced in tests. */
export interface Descriptors {
  readonly open: () => number
  readonly close: (descriptor: number) => void
}

/** Fewer than an exec on bubblewrap needs to begin and to end would help nobody. */
const leastKept = 32
const mostKept = 1024
const leastConnections = 8
/** So many are told in words; the others are closed. Each has a descriptor meanwhile. */
const mostTold = 8
const noteMs = 1000

const ofHost: Descriptors = { open: () => openSync('/dev/null', 'r'), close: closeSync }

/** Where the share of connections ends, for a server that listens on this descriptor. */
export function shareOfConnections(listener: number, limit: number): number {
  const kept = Math.min(Math.max(limit / 4, leastKept), mostKept)
  return Math.max(limit - kept, listener + 1 + leastConnections)
}

/** Without one that can be read, there is none. */
export function readDescriptorLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

export function createSurplus({ from, closeOne, onSentAway }: SurplusRules, { open, close } = ofHost): Surplus {
  let spare: number | undefined = open()
  let told = 0
  let untold = 0
  let noting: NodeJS.Timeout | undefined

  /** One line for many. */
  const note = (): void => {
    untold += 1
    noting ??= setTimeout(() => {
      noting = undefined
      onSentAway(untold)
      untold = 0
    }, noteMs).unref()
  }
  const tell = (client: Accepted): void => {
    told += 1
    const options: SocketConstructorOpts & { readonly handle: Accepted } = {
      handle: client,
      readable: true,
      writable: true,
    }
    const socket = new Socket(options)
    socket.once('close', () => (told -= 1))
    refuseOnSocket(socket, problemOf(noRoom(), newRequestId()))
  }
  const renewSpare = (): void => {
    try {
      spare = open()
    } catch {
      // Somebody else was quicker; the next one who is sent away gives us another chance.
    }
  }
  return {
    sendAway(client) {
      const isOnSpare = spare === undefined
      if (!isOnSpare && (client.fd ?? -1) < from) return false
      note()
      if (isOnSpare || told >= mostTold) client.close()
      else tell(client)
      if (isOnSpare) renewSpare()
      return true
    },
    makeRoom() {
      note()
      // libuv does not turn to anybody else before it could take the next one: there must be a descriptor for it.
      if (spare !== undefined) {
        close(spare)
        spare = undefined
      } else if (!closeOne()) throw new Error('no descriptor is left, and no connection that could be closed for one')
    },
    close() {
      clearTimeout(noting)
      if (spare !== undefined) close(spare)
      spare = undefined
    },
  }
}

const noRoom = (): GloveboxError =>
  new GloveboxError('TOO_MANY_CONNECTIONS', 'Cannot take the connection: the server has too many open', {
    hint: 'Try again in a while, and close connections and streams that are not needed.',
  })

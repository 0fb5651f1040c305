// How much of what was written to a connection has arrived. Only the kernel knows: it takes what it is given whether anybody is there or
// not, and gives up a peer that fell silent, without a word, a quarter of an hour later.
import { readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'

export interface Delivery {
  /** Acknowledged by the other end. */
  readonly arrivedBytes: number
  /** Written, and not yet acknowledged. */
  readonly waitingBytes: number
}

/** Undefined where the kernel does not tell. */
export type Deliveries = (socket: Socket | null) => Delivery | undefined

/** One look serves all that ask within so long. */
const lookMs = 200
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6']

export function openDeliveries(): Deliveries {
  let queues: ReadonlyMap<string, number> = new Map()
  let lookedAt = Number.NEGATIVE_INFINITY
  return (socket) => {
    const inode = socket === null ? undefined : inodeOf(socket)
    if (socket === null || inode === undefined) return undefined
    if (performance.now() - lookedAt > lookMs) {
      queues = new Map(tables.flatMap((table) => queuesIn(readTable(table))))
      lookedAt = performance.now()
    }
    const waitingBytes = queues.get(inode)
    if (waitingBytes === undefined) return undefined
    return { waitingBytes, arrivedBytes: socket.bytesWritten - socket.writableLength - waitingBytes }
  }
}

function inodeOf(socket: Socket & { readonly _handle?: { readonly fd?: number } | null }): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${socket._handle?.fd ?? -1}`))?.[1]
  } catch {
    return undefined
  }
}

function readTable(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** From /proc/net/tcp: by the number of the socket, what it has yet to send or to hear of. */
export function queuesIn(table: string): readonly (readonly [string, number])[] {
  return table.split('\n').flatMap((line) => {
    const [, , , , queues = '', , , , , inode = ''] = line.trim().split(/\s+/)
    const [, waiting] = /^([0-9A-F]{8}):[0-9A-F]{8}$/.exec(queues) ?? []
    return waiting === undefined ? [] : [[inode, Number.parseInt(waiting, 16)] as const]
  })
}

// What a host has listening: servers that greet whoever reaches them. They count, so that a packet without an answer
// is noticed too.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type ListenOptions } from 'node:net'

export interface Listener {
  readonly port: number
  /** How often somebody came. */
  visits(): number
  close(): void
}

export async function listen(where: ListenOptions): Promise<Listener> {
  let visits = 0
  const server = createServer((socket) => {
    visits += 1
    socket.on('error', () => {})
    socket.end('canary')
  })
  server.listen(where)
  await once(server, 'listening')
  const port = where.path === undefined ? (server.address() as AddressInfo).port : 0
  return { port, visits: () => visits, close: () => void server.close() }
}

export async function listenForDatagrams(host: string): Promise<Listener> {
  let visits = 0
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  socket.on('message', (_, from) => {
    visits += 1
    socket.send('canary', from.port, from.address)
  })
  socket.bind(0, host)
  await once(socket, 'listening')
  return { port: socket.address().port, visits: () => visits, close: () => void socket.close() }
}

// A problem on a socket that no response belongs to: what could not be parsed, and what was not upgraded. Nobody cares for such a connection
// any more, so its end is seen to here.
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { problemType, type Problem } from './problem.ts'

/** Longer than it takes to read what was answered. */
const farewellMs = 1000

export function refuseOnSocket(socket: Duplex, { status, text, headers }: Problem): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.on('error', () => {})
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
  leave(socket)
}

/** Of a connection whose last word was written. SECURITY: whoever does not end its own side is not waited for: a connection that nothing
 * else ends would be kept for good. test/e2e/server-upgrades: "and stays behind the answer is not waited for: %s" */
export function leave(socket: Duplex): void {
  const patience = setTimeout(() => socket.destroy(), farewellMs).unref()
  socket.once('close', () => clearTimeout(patience))
  // What is left unread at its end would take the answer away from whoever sent it.
  socket.resume()
}

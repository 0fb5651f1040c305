// A problem on a socket that no response belongs to: what could not be parsed, and what was not upgraded.
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { problemType, type Problem } from './problem.ts'

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
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}

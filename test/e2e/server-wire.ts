// Bytes on a connection that no HTTP client would send, and what the server answers to them.
import { connect } from 'node:net'

export interface WireOptions {
  /** Then the connection is closed from this side. */
  readonly waitMs?: number
}

/** All that comes until the connection ends. */
export function sendRaw(
  port: number,
  text: string | Uint8Array,
  { waitMs = 20_000 }: WireOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    const timer = setTimeout(() => socket.destroy(), waitMs)
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
    // Of what it has answered without reading on, it is free to reset the connection.
    socket.on('error', (error) => (answer === '' ? reject(error) : undefined))
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(answer)
    })
    socket.write(text)
  })
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)

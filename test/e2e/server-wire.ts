// Bytes on a connection that no HTTP client would send, and what the server answers to them. However it answers, it must forbid to keep the
// answer and to guess at it.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { unkeptFaults } from '../fixtures/server-contract.ts'

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
      const faults = headsIn(answer).flatMap((head) => unkeptFaults((name) => headerIn(head, name)))
      if (faults.length > 0) reject(new Error(`${faults.join('; ')} in: ${answer.slice(0, 1000)}`))
      else resolve(answer)
    })
    socket.write(text)
  })
}

/** An upgraded connection and a word in between carry nothing that could be kept. */
const headsIn = (answer: string): readonly string[] =>
  answer.split(/(?=HTTP\/1\.1 [2-5]\d\d )/).filter((part) => /^HTTP\/1\.1 [2-5]/.test(part))

const headerIn = (answer: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(answer.split('\r\n\r\n', 1)[0]?.replaceAll('\r', '') ?? '')?.[1]

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)

/** Connections that the server has a descriptor of, with those that the other side has left. */
export function connectionsOf(port: number): number {
  const own = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  return rows.filter((row) => {
    const [, local = '', , state, , , , , , inode] = row.trim().split(/\s+/)
    return local.endsWith(`:${own}`) && state !== listening && inode !== '0'
  }).length
}

const listening = '0A'

// Bytes on a connection that no HTTP client would send, and what the server answers to them. However it answers, it must forbid to keep the
// answer and to guess at it; and where the request could be read, it must answer it as its document says.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { judgeHeard, type Contract, type Heard } from '../fixtures/server-contract.ts'

export interface Reached {
  readonly port: number
  readonly contract: Contract
}

/** All that comes until the connection ends. */
export async function sendRaw({ port, contract }: Reached, text: string | Uint8Array): Promise<string> {
  const heard = await new Promise<string>((resolve, reject) => {
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
  const faults = faultsIn(contract, Buffer.from(text).toString('latin1'), heard)
  if (faults.length > 0) throw new Error(`against the document: ${faults.join('; ')} in: ${heard.slice(0, 1000)}`)
  return heard
}

/** Then the connection is closed from this side. */
const waitMs = 20_000

/** Told of what could not be read, or not in time, or not at such length: the route was not looked for yet. */
const beforeRoutes: ReadonlySet<number> = new Set([400, 408, 431])

/** What is wrong with the answers to such bytes, as the document has it. */
export function faultsIn(contract: Contract, sent: string, heard: string): readonly string[] {
  const requests = [...sent.matchAll(/^([A-Z]+) (\S+) HTTP\/1\.1\r?$/gm)]
  return answersIn(heard).flatMap((answer, at) => {
    const [, method = '', path = ''] = requests[at] ?? []
    return judgeHeard(contract, beforeRoutes.has(answer.status) ? undefined : { method, path }, answer)
  })
}

/** An upgraded connection and a word in between are none. */
const answersIn = (heard: string): readonly Heard[] =>
  heard
    .split(/(?=HTTP\/1\.1 [2-5]\d\d )/)
    .filter((part) => /^HTTP\/1\.1 [2-5]/.test(part))
    .map((part) => {
      const end = part.indexOf('\r\n\r\n')
      const head = part.slice(0, end)
      const header = (name: string): string | undefined =>
        new RegExp(`^${name}: (.*)\r?$`, 'im').exec(head)?.[1]?.trim()
      const rest = part.slice(end + 4)
      const body = header('transfer-encoding') === 'chunked' ? unchunked(rest) : rest
      return { status: statusOf(part), header, text: Buffer.from(body, 'latin1').toString() }
    })

function unchunked(text: string): string {
  const size = Number.parseInt(text, 16)
  if (!(size > 0)) return ''
  const from = text.indexOf('\r\n') + 2
  return text.slice(from, from + size) + unchunked(text.slice(from + size + 2))
}

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

// Requests over one kept connection, with next to nothing of the client's own in the time: a client library costs about as much as a warm
// command does, and what is measured is the server.
import { connect, type Socket } from 'node:net'

export interface LeanAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export interface LeanClient extends Disposable {
  /** One at a time. */
  readonly send: (method: string, path: string, body?: unknown) => Promise<LeanAnswer>
}

export interface Server {
  readonly url: string
  readonly token: string
}

interface Waiting {
  readonly resolve: (answer: LeanAnswer) => void
  readonly reject: (error: Error) => void
}

export function leanClient({ url, token }: Server): LeanClient {
  const { hostname, port, host } = new URL(url)
  let socket: Socket | undefined
  let waiting: Waiting | undefined
  let received = Buffer.alloc(0)

  const settle = (how: (one: Waiting) => void): void => {
    const one = waiting
    waiting = undefined
    if (one !== undefined) how(one)
  }
  const open = (): Socket => {
    const opened = connect({ host: hostname, port: Number(port), noDelay: true })
    const lost = (error?: Error): void => {
      socket = undefined
      settle(({ reject }) => reject(error ?? new Error('the server closed the connection')))
    }
    opened.on('error', lost)
    opened.on('close', () => lost())
    opened.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      try {
        const read = readAnswer(received)
        if (read === undefined) return
        received = Buffer.alloc(0)
        settle(({ resolve }) => resolve(read))
      } catch (error) {
        settle(({ reject }) => reject(error instanceof Error ? error : new Error(String(error))))
      }
    })
    return opened
  }
  return {
    send(method, path, body) {
      if (waiting !== undefined) throw new Error('one request at a time')
      const text = body === undefined ? '' : JSON.stringify(body)
      const type = body === undefined ? '' : 'content-type: application/json\r\n'
      const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n${type}`
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket ??= open()
        socket.write(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
      })
    },
    [Symbol.dispose]: () => socket?.destroy(),
  }
}

/** Undefined: it is not whole yet. */
function readAnswer(received: Buffer): LeanAnswer | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = received.toString('latin1', 0, end)
  const status = Number(head.slice(9, 12))
  const length = /^content-length: (\d+)/im.exec(head)?.[1] ?? (status === 204 ? '0' : undefined)
  if (length === undefined) throw new Error(`an answer without a length: ${head}`)
  const from = end + 4
  const to = from + Number(length)
  if (received.length < to) return undefined
  const text = received.toString('utf8', from, to)
  return { status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
}

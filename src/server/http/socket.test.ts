// Real WebSockets over loopback; the token alone is vouched for by the test.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { GloveboxError } from '../../errors/error.ts'
import { serveSocket, type Attached } from './socket.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

interface Seen {
  readonly socket: WebSocket
  readonly texts: unknown[]
  readonly closed: Promise<number>
}

interface Served {
  readonly stillGood: () => Promise<boolean>
  readonly stalledMs?: number
  readonly attached?: Partial<Attached>
}

/** Until its reader leaves. */
const talk: Attached['talk'] = ({ signal }) =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve())
  })

async function attach({ stillGood, stalledMs = 60_000, attached = {} }: Served): Promise<Seen> {
  const http = createServer()
  const sockets = new WebSocketServer({ server: http })
  sockets.on('connection', (socket) => {
    const parts = { limits: { heartbeatMs: 10, stalledMs }, requestId: 'req_1', signal: new AbortController().signal }
    void serveSocket(socket, { talk, take: async () => {}, ...attached }, { ...parts, stillGood })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const socket = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`)
  closing.push(() => {
    socket.terminate()
    http.close()
  })
  const texts: unknown[] = []
  socket.on('message', (data: Buffer) => texts.push(JSON.parse(data.toString())))
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await once(socket, 'open')
  return { socket, texts, closed }
}

const away = (): GloveboxError => new GloveboxError('STORE_UNAVAILABLE', 'Cannot find the token: the database is away')
const lastWord = (code: string) => [{ type: 'error', error: expect.objectContaining({ code }) }]

describe('a connection whose token cannot be asked for', () => {
  it('a connection outlives a token that cannot be asked for, but not for longer than a silent reader', async () => {
    let asked = 0
    const stillGood = async (): Promise<boolean> => {
      asked += 1
      throw away()
    }
    const patient = await attach({ stillGood })
    await expect.poll(() => asked, { timeout: 20_000 }).toBeGreaterThan(5)
    expect([patient.socket.readyState, patient.texts]).toEqual([WebSocket.OPEN, []])
    const brief = await attach({ stillGood, stalledMs: 300 })
    expect([await brief.closed, brief.texts.slice(0, 1)]).toEqual([1011, lastWord('STORE_UNAVAILABLE')])
  })

  it('goes on when the token is vouched for again, and ends when it is revoked', async () => {
    const answers = [away, () => true, away]
    const stillGood = async (): Promise<boolean> => {
      const answer = answers.shift()?.() ?? false
      if (typeof answer === 'boolean') return answer
      throw answer
    }
    const seen = await attach({ stillGood })
    expect([await seen.closed, seen.texts.slice(0, 1)]).toEqual([1008, lastWord('TOKEN_REVOKED')])
  })

  it('ends at once with a fault that does not pass by itself, and takes nobody else along', async () => {
    const fault = (): never => {
      throw new GloveboxError('RECORD_DAMAGED', 'Cannot open the sandbox: its record is damaged')
    }
    const seen = await attach({ stillGood: async () => true, attached: { onHeartbeat: fault } })
    expect([await seen.closed, seen.texts.slice(0, 1)]).toEqual([1008, lastWord('RECORD_DAMAGED')])
  })
})

import { createServer, request, type Server } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { GloveboxError } from '../../errors/error.ts'
import { createGate, type Entry, type GateParts } from './gate.ts'
import { createHold, type Hold } from './hold.ts'
import { createPresence } from './presence.ts'
import { createLeftovers } from './leftovers.ts'
import type { Refusal } from './refusals.ts'
import { createRounds } from './rounds.ts'
import { defineRoute } from './route.ts'
import { createThrottle } from './throttle.ts'

const open = defineRoute({
  method: 'get',
  path: '/healthz',
  tag: 'health',
  summary: '',
  scope: 'open',
  answers: {},
  handle: () => Promise.reject(new Error('not called here')),
})
const heavy = defineRoute({
  method: 'get',
  path: '/heavy',
  tag: 'sandboxes',
  summary: '',
  scope: 'exec',
  isHeavy: true,
  answers: {},
  handle: () => Promise.reject(new Error('not called here')),
})
const principal = {
  tokenId: 'tok_1',
  scopes: new Set(['read'] as const),
  project: null,
  actor: 'token:tok_1',
  expiresAt: null,
  stillGood: async () => true,
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function startGate(change: Partial<GateParts> = {}) {
  const entries: Entry[] = []
  const noted: Refusal[] = []
  const hosts = new Set<string>()
  let refused = 0
  const gate = createGate(
    {
      routes: [open, heavy],
      rules: { hosts, origins: new Set(['https://page.example']), limits: { urlBytes: 1000 } },
      authenticate: (header) => {
        if (header === 'Bearer good') return principal
        if (header === 'Bearer looked up') return Promise.resolve(principal)
        return Promise.reject(new GloveboxError('UNAUTHENTICATED', 'Cannot answer: no token'))
      },
      throttle: createThrottle(
        {
          inFlightPerToken: 2,
          streamsPerToken: 1,
          requestsPerSecond: 0.001,
          requestsPerSecondBesideOthers: 0.001,
          burst: 3,
        },
        { isAlone: () => true },
        { wasHeld: () => false },
      ),
      rounds: createRounds(),
      presence: createPresence(),
      hold: createHold(),
      lanes: { refusalOf: () => undefined },
      leftovers: createLeftovers(),
      refusals: { note: (refusal) => void noted.push(refusal), flush: async () => {} },
      metrics: { refused: () => (refused += 1) },
      drain: { isDraining: false },
      ...change,
    },
    (entry, _incoming, outgoing) => {
      entries.push(entry)
      entry.leave()
      outgoing.writeHead(entry.refusal === undefined ? 200 : 401).end()
    },
  )
  const server = createServer((incoming, outgoing) => void gate(incoming, outgoing))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  hosts.add(`127.0.0.1:${port}`)
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<{
      readonly status: number
      readonly headers: Readonly<Record<string, unknown>>
      readonly text: string
    }>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', path, headers, agent: false }, (response) => {
        let text = ''
        response.on('data', (chunk) => (text += String(chunk)))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      })
      sent.on('error', reject)
      sent.end()
    })
  return { ask, entries, noted, port, refusedCount: () => refused }
}

const good = { authorization: 'Bearer good' }

describe('the gate', () => {
  it('lets a token have its burst, and refuses the rest before anything is routed', async () => {
    const { ask, entries, noted, refusedCount } = await startGate()
    const statuses: number[] = []
    for (let each = 0; each < 6; each++) statuses.push((await ask('/x', good)).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429])
    expect([entries.length, refusedCount()]).toEqual([3, 3])
    expect(noted.map(({ code, actor, route }) => [code, actor, route])).toEqual(
      Array.from({ length: 3 }, () => ['TOO_MANY_REQUESTS', 'token:tok_1', '*']),
    )
  })

  it('tells a refusal as any problem, to a page that may read it', async () => {
    const { ask } = await startGate()
    const page = { ...good, origin: 'https://page.example' }
    for (let each = 0; each < 3; each++) await ask('/x', page)
    const { headers, text } = await ask('/x', page)
    expect(headers).toMatchObject({
      'retry-after': expect.stringMatching(/^\d+$/),
      'content-type': 'application/problem+json',
      'access-control-allow-origin': 'https://page.example',
      'cache-control': 'no-store',
      'x-request-id': expect.stringMatching(/^req_/),
    })
    expect(JSON.parse(text)).toMatchObject({ status: 429, error: { code: 'TOO_MANY_REQUESTS', retryable: true } })
  })

  it('counts whoever has no token by the address, and not what asks for none', async () => {
    const { ask, entries, noted } = await startGate()
    const statuses: number[] = []
    for (let each = 0; each < 4; each++) statuses.push((await ask('/x')).status)
    expect(statuses).toEqual([401, 401, 401, 429])
    expect(noted.map(({ actor }) => actor)).toEqual(['nobody'])
    for (let each = 0; each < 6; each++) expect((await ask('/healthz?x')).status).toBe(200)
    expect((await ask('/x', good)).status).toBe(200)
    expect(entries.map(({ principal: who }) => who?.actor).filter(Boolean)).toEqual(['token:tok_1'])
  })

  it('refuses heavy work for which no more may wait before anything of it is read, and nothing else', async () => {
    const full = new GloveboxError('TOO_MANY_REQUESTS', 'Cannot answer now: too many wait')
    const toldToWait: string[] = []
    const hold: Hold = {
      ...createHold(),
      refuse(who, _socket, answer) {
        toldToWait.push(who)
        answer()
        return 'answered'
      },
    }
    const { ask, entries, noted } = await startGate({ lanes: { refusalOf: () => full }, hold })
    expect((await ask('/heavy?x', good)).status).toBe(429)
    expect([entries.length, noted.map(({ actor }) => actor)]).toEqual([0, ['token:tok_1']])
    expect(toldToWait).toEqual(['token:tok_1'])
    // It has left: two at a time may be asked for, and this is the third.
    expect((await ask('/heavy', good)).status).toBe(429)
    expect((await ask('/light', good)).status).toBe(200)
    expect(entries).toHaveLength(1)
  })

  it.each(['good', 'looked up'])(
    'begins nothing of what comes behind a refusal that is held, and ends the connection with that one (a token that is %s)',
    async (token) => {
      const { entries, noted, port } = await startGate()
      const socket = connect(port, '127.0.0.1')
      let text = ''
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      const request = `GET /x HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`
      socket.write(request.repeat(40))
      await ended
      const answers = text.split('HTTP/1.1 ').slice(1)
      // Three have credit, sixteen are refused at once, and one is held.
      const statuses = answers.map((answer) => Number(answer.slice(0, 3)))
      expect(statuses).toEqual([...Array<number>(3).fill(200), ...Array<number>(17).fill(429)])
      expect(answers.map((answer) => /^connection: close\r$/im.test(answer)).indexOf(true)).toBe(19)
      expect([entries.length, noted.length]).toEqual([3, 17])
    },
  )

  it('hands on what the guard refuses, with no token looked at', async () => {
    const { ask, entries } = await startGate({ authenticate: () => Promise.reject(new Error('asked')) })
    await ask('/x', { host: 'evil.example' })
    expect(entries[0]?.refusal).toMatchObject({ code: 'HOST_NOT_ALLOWED' })
  })
})

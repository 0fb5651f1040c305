// Callers who ask a server for more than their share, and bodies that are more than they say. A real server, spoken to over sockets.
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type ServerGround } from '../e2e/server-ground.ts'

let ground: ServerGround
beforeAll(async () => {
  // What V8 makes room for and keeps is no cost of a request; held still, so that one can be told from it.
  ground = await startServer({ env: { NODE_OPTIONS: '--max-semi-space-size=2' } })
})
afterAll(async () => {
  await ground.stop()
})

/** Everything that comes back on one connection until the server closes it, or nothing more comes for a while. */
interface Heard {
  readonly text: string
  readonly isClosed: boolean
}

async function speak(port: number, say: (socket: Socket) => Promise<void> | void, quietMs = 3000): Promise<Heard> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let heardAt = performance.now()
  let isClosed = false
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    heardAt = performance.now()
  })
  socket.on('close', () => (isClosed = true))
  await say(socket)
  while (!isClosed && performance.now() - heardAt < quietMs) await delay(20)
  socket.destroy()
  return { text, isClosed }
}

const statusesIn = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
const headOf = (method: string, path: string, token: string): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${ground.port}\r\nauthorization: Bearer ${token}\r\n`

describe('a body that is more than it seems', () => {
  const memory = (name: 'VmRSS' | 'VmHWM'): number => {
    const status = readFileSync(`/proc/${ground.server.child.pid}/status`, 'utf8')
    return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024
  }
  /** How much more memory the server had at any moment of it. */
  const costOf = async (work: () => Promise<void>): Promise<number> => {
    const before = memory('VmRSS')
    writeFileSync(`/proc/${ground.server.child.pid}/clear_refs`, '5')
    await work()
    return memory('VmHWM') - before
  }
  const json = 'content-type: application/json\r\n'
  /** 64 MiB in each of its members, and less than 1 MiB together. */
  const bomb = Buffer.concat(
    Array.from({ length: 16 }, () => gzipSync(Buffer.alloc(64 * 1024 * 1024, 32), { level: 9 })),
  )
  const detonate = async (): Promise<void> => {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        ground.call('POST', '/tokens', {
          raw: bomb,
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        }),
      ),
    )
    for (const answer of answers) expect([answer.status, codeOf(answer)]).toEqual([413, 'TOO_LARGE'])
  }
  /** Chunks of so many bytes, without an end, until the server closes the connection. */
  const sendEndlessly = async (chunkBytes: number): Promise<void> => {
    const chunk = Buffer.from(`${chunkBytes.toString(16)}\r\n${' '.repeat(chunkBytes)}\r\n`)
    const block = Buffer.concat(Array.from({ length: Math.ceil(65_536 / chunk.length) }, () => chunk))
    const { text, isClosed } = await speak(ground.port, async (socket) => {
      socket.write(`${headOf('POST', '/tokens', ground.token)}${json}transfer-encoding: chunked\r\n\r\n`)
      // Far more than is ever read of it.
      for (let sent = 0; sent < 64 * 1024 * 1024 && !socket.destroyed; sent += block.length)
        if (!socket.write(block))
          await Promise.race([
            new Promise((resolve) => socket.once('drain', resolve)),
            new Promise((resolve) => socket.once('close', resolve)),
            delay(5000),
          ])
    })
    expect(statusesIn(text)).toEqual([413])
    expect(text).toMatch(/^connection: close/im)
    expect(isClosed).toBe(true)
  }

  it('a body that inflates to a gibibyte, or never ends, costs the server less than 16 MiB', async () => {
    expect(bomb.length).toBeLessThan(1024 * 1024)
    // A server that has been used: what its first requests load stays loaded, and its heap has grown to what it works with.
    for (let wave = 0; wave < 10; wave++)
      await Promise.all(Array.from({ length: 40 }, () => ground.call('GET', '/openapi.json')))
    await detonate()
    await sendEndlessly(8192)
    expect(await costOf(detonate)).toBeLessThan(16)
    expect(await costOf(() => sendEndlessly(8192))).toBeLessThan(16)
    expect(await costOf(() => sendEndlessly(1))).toBeLessThan(16)
    expect((await ground.call('GET', '/healthz')).status).toBe(200)
  })

  it('a body that nobody asked for is not waited for either', async () => {
    const { text, isClosed } = await speak(ground.port, (socket) => {
      socket.write(`${headOf('GET', '/sandboxes', ground.token)}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`)
    })
    expect([statusesIn(text), isClosed]).toEqual([[200], true])
  })

  it('a small body that is refused keeps its connection', async () => {
    const body = '{"name":'
    const post = `${headOf('POST', '/tokens', ground.token)}${json}content-length: ${body.length}\r\n\r\n${body}`
    const { text, isClosed } = await speak(
      ground.port,
      (socket) => void socket.write(`${post}${headOf('GET', '/sandboxes', ground.token)}\r\n`),
      500,
    )
    expect([statusesIn(text), isClosed]).toEqual([[400, 200], false])
  })
})

describe('a flood', () => {
  const refusedTotal = async (): Promise<number> => {
    const { text } = await ground.call('GET', '/metrics')
    return Number(/^glovebox_http_requests_refused_total (\d+)/m.exec(text)?.[1] ?? Number.NaN)
  }

  it('of one token is refused before it is routed, each request is answered, and others are served', async () => {
    const flooder = await ground.makeToken('read', 'flood')
    const other = await ground.makeToken('read', 'other')
    const before = await refusedTotal()
    const [lines, each] = [30, 60]
    const floods = Array.from({ length: lines }, () =>
      speak(ground.port, (socket) => void socket.write(`${headOf('GET', '/sandboxes', flooder)}\r\n`.repeat(each))),
    )
    const served: number[] = []
    for (let asked = 0; asked < 50; asked++)
      served.push((await ground.call('GET', '/sandboxes', { token: other })).status)
    const statuses = (await Promise.all(floods)).flatMap(({ text }) => statusesIn(text))
    expect(new Set(served)).toEqual(new Set([200]))
    expect(statuses).toHaveLength(lines * each)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    const refused = statuses.filter((status) => status === 429).length
    expect(refused).toBeGreaterThan(500)
    expect((await refusedTotal()) - before).toBe(refused)
    // Neither a line of the log nor a record for each of them, but their sum.
    expect(
      ground
        .log()
        .split('\n')
        .filter((line) => line.includes('"status":429')),
    ).toEqual([])
    await delay(1500)
    const { stdout } = await ground.glovebox(['audit', 'show', '--json'])
    const records = stdout.split('\n').filter((line) => line.includes('TOO_MANY_REQUESTS'))
    const counted = records.reduce((sum, line) => sum + Number(/"count":(\d+)/.exec(line)?.[1] ?? 0), 0)
    expect([records.length < 20, counted]).toEqual([true, refused])
  })

  it('without a token is refused as one of the address, and those with a token are served', async () => {
    const other = await ground.makeToken('read', 'other')
    const [lines, each] = [30, 60]
    const floods = Array.from({ length: lines }, () =>
      speak(
        ground.port,
        (socket) => void socket.write(`${headOf('GET', '/sandboxes', 'gbx_nobody')}\r\n`.repeat(each)),
      ),
    )
    const served: number[] = []
    for (let asked = 0; asked < 50; asked++)
      served.push((await ground.call('GET', '/sandboxes', { token: other })).status)
    const statuses = (await Promise.all(floods)).flatMap(({ text }) => statusesIn(text))
    expect(new Set(served)).toEqual(new Set([200]))
    expect(statuses).toHaveLength(lines * each)
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
  })

  it('that ends leaves nothing: its token is served as before', async () => {
    const flooder = await ground.makeToken('read', 'flood')
    for (let wave = 0; wave < 3; wave++) {
      const sockets = Array.from({ length: 100 }, () => connect(ground.port, '127.0.0.1'))
      for (const socket of sockets) {
        socket.on('error', () => {})
        socket.write(`${headOf('GET', '/sandboxes', flooder)}\r\n`.repeat(20))
      }
      await delay(100)
      // In the middle of it, so that requests are left in every place where they wait.
      for (const socket of sockets) socket.destroy()
    }
    await delay(1500)
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => ground.call('GET', '/sandboxes', { token: flooder })),
    )
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
  })
})

describe('a wave', () => {
  it('of a hundred creates of one token is no flood: none is refused', async () => {
    const token = await ground.makeToken('exec', 'wave')
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => ground.call('POST', '/sandboxes', { token, body: { project: 'wave' } })),
    )
    expect(answers.filter(({ status }) => status !== 201).map(({ text }) => text)).toEqual([])
    for (const answer of answers) await ground.call('DELETE', `/sandboxes/${String(answer.at('id'))}`, { token })
  })
})

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

/** Everything that comes back on one connection until the server closes it, or there are so many answers. */
interface Heard {
  readonly text: string
  readonly isClosed: boolean
}

const patienceMs = 60_000

async function speak(
  port: number,
  say: (socket: Socket) => Promise<void> | void,
  { answers = Number.POSITIVE_INFINITY, thenMs = 0 } = {},
): Promise<Heard> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let isClosed = false
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  socket.on('close', () => (isClosed = true))
  await say(socket)
  const until = performance.now() + patienceMs
  while (!isClosed && statusesIn(text).length < answers && performance.now() < until) await delay(20)
  await delay(thenMs)
  socket.destroy()
  return { text, isClosed }
}

const statusesIn = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
const headOf = (method: string, path: string, token: string, port = ground.port): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n`

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

  it('bodies that are not answered yet are bounded for each token, and others are served', async () => {
    const made = await ground.call('POST', '/tokens', { body: { name: 'other', scopes: ['admin'] } })
    const other = String(made.at('token'))
    const send = async (token: string, bytes: number): Promise<readonly unknown[]> => {
      const headers = { 'content-type': 'application/json' }
      const answer = await ground.call('POST', '/tokens', { raw: '{'.padEnd(bytes), headers, token })
      return [answer.status, codeOf(answer), answer.headers['retry-after']]
    }
    const read = [400, 'INVALID_INPUT', undefined]
    const large = 100 * 1024
    expect(await send(ground.token, large)).toEqual(read)
    // As much as it may have, of which next to nothing ever comes.
    const held = Array.from({ length: 2 }, () => {
      const socket = connect(ground.port, '127.0.0.1')
      socket.on('error', () => {})
      const head = `${headOf('POST', '/sandbox/execs', ground.token)}${json}content-length: ${32 * 1024 * 1024}`
      socket.write(`${head}\r\n\r\n{`)
      return socket
    })
    await expect.poll(() => send(ground.token, large)).toEqual([429, 'TOO_MANY_REQUESTS', '1'])
    expect(await send(ground.token, 1024)).toEqual(read)
    expect(await send(other, large)).toEqual(read)
    for (const socket of held) socket.destroy()
    await expect.poll(() => send(ground.token, large)).toEqual(read)
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
      { answers: 2, thenMs: 500 },
    )
    expect([statusesIn(text), isClosed]).toEqual([[400, 200], false])
  })
})

describe('a flood', () => {
  let slow: ServerGround
  beforeAll(async () => {
    // What is refused must not depend on how long the machine takes for what is sent.
    const rates = ['requestsPerSecond=20', 'requestsPerSecondBesideOthers=20'].flatMap((rate) => ['--limit', rate])
    slow = await startServer({ flags: rates })
  })
  afterAll(async () => {
    await slow.stop()
  })
  const refusedBy = async (server: ServerGround): Promise<number> => {
    const { text } = await server.call('GET', '/metrics')
    return Number(/^glovebox_http_requests_refused_total (\d+)/m.exec(text)?.[1] ?? Number.NaN)
  }
  const [lines, each] = [30, 60]
  /** What another one is answered meanwhile. */
  const beside = async <T>(floods: Promise<T>, other: string) => {
    const served: number[] = []
    for (let asked = 0; asked < 50; asked++)
      served.push((await slow.call('GET', '/sandboxes', { token: other })).status)
    return { served, flooded: await floods }
  }
  const requestOf = (token: string): string => `${headOf('GET', '/sandboxes', token, slow.port)}\r\n`
  /** Many requests at once on each of many connections, until it ends. */
  const pipeline = (token: string): Promise<readonly Heard[]> =>
    Promise.all(
      Array.from({ length: lines }, () =>
        speak(slow.port, (socket) => void socket.write(requestOf(token).repeat(each)), { answers: each }),
      ),
    )
  /** Where not all was served: those whose last answer is not a refusal with which the connection ends. */
  const notToldOf = (flooded: readonly Heard[]): readonly Heard[] => {
    const cut = flooded.filter(({ text }) => statusesIn(text).length < each)
    expect(cut.length).toBeGreaterThan(lines / 2)
    return cut.filter(({ text, isClosed }) => {
      const last = text.slice(text.lastIndexOf('HTTP/1.1 '))
      const isTold = [/^HTTP\/1\.1 429 /, /^retry-after: \d/im, /^connection: close\r$/im].every((part) =>
        part.test(last),
      )
      return !isTold || !isClosed
    })
  }

  it('of one token is refused before it is routed, each of its connections is told so and ends, and others are served', async () => {
    const flooder = await slow.makeToken('read', 'flood')
    const other = await slow.makeToken('read', 'other')
    const before = await refusedBy(slow)
    const begun = performance.now()
    const { served, flooded } = await beside(pipeline(flooder), other)
    const lastedMs = performance.now() - begun
    expect(new Set(served)).toEqual(new Set([200]))
    expect(notToldOf(flooded)).toEqual([])
    const statuses = flooded.flatMap(({ text }) => statusesIn(text))
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    const refused = statuses.filter((status) => status === 429).length
    // Those behind it are not even looked at.
    expect(refused).toBeLessThanOrEqual(lines + 16 * Math.ceil(lastedMs / 1000))
    expect((await refusedBy(slow)) - before).toBe(refused)
    // Neither a line of the log nor a record for each of them, but their sum.
    expect(
      slow
        .log()
        .split('\n')
        .filter((line) => line.includes('"status":429')),
    ).toEqual([])
    const recorded = async (): Promise<readonly string[]> => {
      const { stdout } = await slow.glovebox(['audit', 'show', '--json'])
      return stdout.split('\n').filter((line) => line.includes('TOO_MANY_REQUESTS'))
    }
    const counted = async (): Promise<number> =>
      (await recorded()).reduce((sum, line) => sum + Number(/"count":(\d+)/.exec(line)?.[1] ?? 0), 0)
    await expect.poll(counted, { timeout: patienceMs, interval: 500 }).toBe(refused)
    // Those of one second are one.
    expect((await recorded()).length).toBeLessThan(20 + lastedMs / 1000)
  })

  it('without a token is refused as one of the address, and those with a token are served', async () => {
    const { served, flooded } = await beside(pipeline('gbx_nobody'), await slow.makeToken('read', 'other'))
    expect(new Set(served)).toEqual(new Set([200]))
    expect(notToldOf(flooded)).toEqual([])
    expect(new Set(flooded.flatMap(({ text }) => statusesIn(text)))).toEqual(new Set([401, 429]))
  })

  it('of requests that wait for their answers is answered, each of them, on the same connections', async () => {
    const flooder = await slow.makeToken('read', 'flood')
    const ask = (): Promise<readonly number[]> =>
      new Promise((resolve, reject) => {
        const socket = connect(slow.port, '127.0.0.1')
        let text = ''
        socket.on('error', reject)
        socket.on('close', () => resolve(statusesIn(text)))
        socket.on('data', (chunk: Buffer) => {
          text += chunk.toString('latin1')
          if (!text.endsWith('}')) return
          if (statusesIn(text).length === 4) socket.destroy()
          else socket.write(requestOf(flooder))
        })
        socket.write(requestOf(flooder))
      })
    const asking = Promise.all(Array.from({ length: 100 }, ask))
    const { served, flooded } = await beside(asking, await slow.makeToken('read', 'other'))
    expect(new Set(served)).toEqual(new Set([200]))
    expect(flooded.map((told) => told.length)).toEqual(flooded.map(() => 4))
    expect(new Set(flooded.flat())).toEqual(new Set([200, 429]))
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
    // What has come of it is still answered for; on a busy machine that takes its time.
    let refused = -1
    const standsStill = async (): Promise<boolean> => {
      const before = refused
      refused = await refusedBy(ground)
      return refused === before
    }
    await expect.poll(standsStill, { timeout: patienceMs, interval: 1000 }).toBe(true)
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

describe('a crowd of connections', () => {
  /** As long as it is there, others share the server with it. */
  const keepAsking = (token: string) => {
    const served: number[] = []
    let isOver = false
    const asking = (async () => {
      while (!isOver) {
        served.push((await ground.call('GET', '/sandboxes', { token })).status)
        await delay(20)
      }
    })()
    return {
      async stop(): Promise<readonly number[]> {
        isOver = true
        await asking
        return served
      },
    }
  }

  it('that say nothing keeps nobody out, and each of them is served when it speaks', async () => {
    const other = keepAsking(await ground.makeToken('read', 'other'))
    const token = await ground.makeToken('read', 'crowd')
    const silent = Array.from({ length: 100 }, () => connect(ground.port, '127.0.0.1'))
    await Promise.all(silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
    const request = `${headOf('GET', '/sandboxes', token)}\r\n`
    const newcomer = await speak(ground.port, (socket) => void socket.write(request), { answers: 1 })
    expect(statusesIn(newcomer.text)).toEqual([200])
    const told = await Promise.all(
      silent.map(
        (socket) =>
          new Promise<string>((resolve) => {
            socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1')))
            socket.write(request)
          }),
      ),
    )
    for (const socket of silent) socket.destroy()
    expect(told.flatMap(statusesIn)).toEqual(silent.map(() => 200))
    expect(new Set(await other.stop())).toEqual(new Set([200]))
  })

  it('with more creates than may wait is told so, what was taken is made, and others are served', async () => {
    const other = keepAsking(await ground.makeToken('read', 'other'))
    const token = await ground.makeToken('exec', 'crowd')
    const body = '{"project":"crowd"}'
    const length = `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const heard: string[] = []
    const creates = Array.from({ length: 300 }, async () => {
      const say = (socket: Socket) => void socket.write(`${headOf('POST', '/sandboxes', token)}${length}`)
      heard.push((await speak(ground.port, say, { answers: 1 })).text)
    })
    const refused = (): readonly string[] => heard.filter((text) => statusesIn(text)[0] === 429)
    // Of 300 a flood may leave 30 waiting, and few are made until it is known for one.
    await expect.poll(() => refused().length, { timeout: patienceMs }).toBeGreaterThan(150)
    expect(refused().filter((text) => !/^retry-after: [1-9]\d*\r$/im.test(text))).toEqual([])
    // Alone, it need not wait any longer.
    expect(new Set(await other.stop())).toEqual(new Set([200]))
    await Promise.all(creates)
    expect(new Set(heard.flatMap(statusesIn))).toEqual(new Set([201, 429]))
    const made = heard.flatMap((text) => /"id":"(sbx_\w+)"/.exec(text)?.[1] ?? [])
    expect(made.length).toBeGreaterThanOrEqual(30)
    for (const id of made) {
      const removed = await ground.call('DELETE', `/sandboxes/${id}`, { token: ground.token })
      expect(removed.status).toBe(204)
    }
  })
})

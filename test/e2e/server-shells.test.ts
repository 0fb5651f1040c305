// Shells and terminals over the wire: the same that the library gives, and a WebSocket that is as hard to come by as any route.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, type ClientOptions } from 'ws'
import { parseEvents, unkeptFaults } from '../fixtures/server-contract.ts'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'
import { openViewer } from './terminal-ground.ts'

let ground: ServerGround
let sandbox: string

beforeAll(async () => {
  ground = await startServer({ flags: ['--limit', 'heartbeatMs=500'] })
  sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes', { body: {} })).at('id'))}`
})
afterAll(async () => {
  await ground.stop()
})

const open = async (body: object, at = { ground, sandbox }): Promise<string> => {
  const made = await at.ground.call('POST', `${at.sandbox}/shells`, { body })
  if (made.status !== 201) throw new Error(made.text)
  return String(made.headers['location'])
}
const command = (shell: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  ground.call('POST', `${shell}/commands`, { body, headers })

describe('a shell', () => {
  it('keeps its state from command to command, is listed, waited for and closed', async () => {
    const shell = await open({ env: { COLOUR: 'blue' } })
    expect((await command(shell, { command: 'cd /tmp; mine=1; echo $COLOUR' })).at('stdout')).toBe('blue\n')
    const second = await command(shell, { command: 'echo "$mine $PWD"; echo wrong >&2; (exit 3)' })
    expect([
      second.status,
      second.at('stdout'),
      second.at('stderr'),
      second.at('exitCode'),
      second.at('number'),
    ]).toEqual([200, '1 /tmp\n', 'wrong\n', 3, 2])
    const untilTold = 'while [ ! -e /workspace/go ]; do sleep 0.02; done; echo late'
    const begun = await command(shell, { command: untilTold, background: true })
    expect([begun.status, begun.at('number'), begun.at('status')]).toEqual([202, 3, 'running'])
    expect((await ground.call('GET', `${shell}/wait?number=3&wait_ms=0`)).at('done')).toBe(false)
    await ground.call('PUT', `${sandbox}/files?path=/workspace/go`, { raw: '' })
    const waited = await ground.call('GET', `${shell}/wait?wait_ms=20000`)
    expect([waited.at('done'), waited.at('result.stdout'), waited.at('result.number')]).toEqual([true, 'late\n', 3])
    const later = await ground.call('GET', String(begun.headers['location']))
    expect([later.at('status'), later.at('result.stdout')]).toEqual(['ended', 'late\n'])
    const listed = (await ground.call('GET', `${sandbox}/shells`)).at('items') as readonly { readonly id: string }[]
    expect(listed.map(({ id }) => shell.endsWith(id))).toContain(true)
    expect((await ground.call('GET', shell)).at('commands')).toBe(3)
    expect((await ground.call('DELETE', shell)).status).toBe(204)
    expect(codeOf(await ground.call('GET', shell))).toBe('NOT_FOUND')
  })

  it('streams a command, and the stream is found again behind any event', async () => {
    const shell = await open({})
    const streamed = await command(
      shell,
      { command: 'echo one; echo two >&2; exit_code=4; (exit 4)' },
      { accept: 'text/event-stream' },
    )
    const events = parseEvents(streamed.text)
    expect(events.map(({ event }) => event).toSorted()).toEqual(['ended', 'stderr', 'stdout'])
    expect(events.at(-1)?.data).toMatchObject({ exitCode: 4, number: 1, state: 'kept', command: expect.any(String) })
    const place = String(streamed.headers['location'])
    const again = await ground.call('GET', place, { headers: { 'last-event-id': String(events[0]?.id) } })
    expect(parseEvents(again.text)).toEqual(events.slice(1))
    expect((await ground.call('GET', place, { headers: { 'last-event-id': String(events.at(-1)?.id) } })).status).toBe(
      204,
    )
    expect(codeOf(await ground.call('POST', `${shell}/input`, { body: { text: 'x' } }))).toBe('INVALID_INPUT')
    await ground.call('DELETE', shell)
  })

  it('a command that runs is ended, and the shell stays', async () => {
    const shell = await open({})
    const begun = await command(shell, { command: 'kept=yes; sleep 100', background: true })
    const ended = await ground.call('DELETE', String(begun.headers['location']))
    expect(ended.at('result.ended.by')).toBe('cancel')
    expect((await command(shell, { command: 'echo here' })).at('stdout')).toBe('here\n')
    await ground.call('DELETE', shell)
  })
})

interface Seen {
  readonly socket: WebSocket
  readonly output: () => Buffer
  readonly screens: () => readonly Buffer[]
  readonly texts: () => readonly { readonly type: string }[]
  readonly closed: Promise<number>
  offset(): number
}

const address = (shell: string, query = '', at = ground): string =>
  `${at.url.replace('http', 'ws')}${shell}/attach${query}`
const withToken = (token: string = ground.token, at = ground): ClientOptions => ({
  origin: at.url,
  headers: { authorization: `Bearer ${token}` },
})

async function attach(
  shell: string,
  query = '',
  options = withToken(),
  protocols = ['glovebox.terminal.v1'],
  at = ground,
): Promise<Seen> {
  const socket = new WebSocket(address(shell, query, at), protocols, options)
  const output: Buffer[] = []
  const screens: Buffer[] = []
  const texts: { readonly type: string }[] = []
  let offset = 0
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) return void texts.push(JSON.parse(data.toString()) as { readonly type: string })
    const isScreen = data[0] === 1
    offset = Number(data.readBigUInt64BE(1)) + (isScreen ? 0 : data.length - 9)
    ;(isScreen ? screens : output).push(data.subarray(9))
  })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
    socket.once('unexpected-response', (_, response) => {
      const faults = unkeptFaults((name) => response.headers[name])
      reject(faults.length > 0 ? new Error(faults.join('; ')) : new Refused(response.statusCode ?? 0))
    })
  })
  return {
    socket,
    output: () => Buffer.concat(output),
    screens: () => screens,
    texts: () => texts,
    closed,
    offset: () => offset,
  }
}

class Refused extends Error {
  readonly status: number
  constructor(status: number) {
    super(`refused with ${status}`)
    this.status = status
  }
}

const refusedWith = (attempt: Promise<unknown>): Promise<number> =>
  attempt.then(
    () => 101,
    (error: unknown) => (error instanceof Refused ? error.status : -1),
  )

async function until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

describe('a terminal over HTTP', () => {
  it('is typed into, resized, seen, followed by events, and waited for', async () => {
    const shell = await open({ pty: { cols: 70, rows: 20 }, argv: ['/bin/sh'] })
    expect((await ground.call('GET', shell)).at('size')).toEqual({ cols: 70, rows: 20 })
    expect((await ground.call('POST', `${shell}/resize`, { body: { cols: 99, rows: 30 } })).status).toBe(204)
    expect((await ground.call('POST', `${shell}/input`, { body: { text: 'stty size; exit 6\n' } })).status).toBe(204)
    const end = await ground.call('GET', `${shell}/end?wait_ms=20000`)
    expect(end.at('end')).toEqual({ ended: { by: 'exit', code: 6 }, exitCode: 6 })
    const events = parseEvents((await ground.call('GET', `${shell}/events`)).text)
    const output = Buffer.concat(
      events
        .filter(({ event }) => event === 'output')
        .map(({ data }) => Buffer.from((data as { base64: string }).base64, 'base64')),
    ).toString()
    expect(output).toContain('30 99')
    expect(events.at(-1)?.data).toEqual({ ended: { by: 'exit', code: 6 }, exitCode: 6 })
    const rest = await ground.call('GET', `${shell}/events`, { headers: { 'last-event-id': String(events[0]?.id) } })
    expect(parseEvents(rest.text)).toEqual(events.slice(1))
    const screen = await ground.call('GET', `${shell}/screen`)
    expect(Buffer.from(String(screen.at('base64')), 'base64').toString()).toContain('30 99')
    expect(codeOf(await ground.call('POST', `${shell}/input`, { body: { text: 'x' } }))).toBe('SHELL_CLOSED')
    expect(codeOf(await command(shell, { command: 'true' }))).toBe('INVALID_INPUT')
    expect(codeOf(await ground.call('GET', `${shell}/attach`, { isUndocumented: true }))).toBe('UPGRADE_REQUIRED')
    await ground.call('DELETE', shell)
  })
})

describe('a terminal over a WebSocket', () => {
  it('carries keys and output, and whoever comes back sees the same screen', async () => {
    const shell = await open({ pty: { cols: 60, rows: 15 }, argv: ['/usr/bin/vim', '-u', 'NONE', '-i', 'NONE'] })
    const first = await attach(shell)
    const viewer = openViewer({ cols: 60, rows: 15 })
    let drawn = 0
    const see = async (): Promise<string> => {
      if (drawn === 0) for (const screen of first.screens()) await viewer.draw(screen)
      const all = first.output()
      await viewer.draw(all.subarray(drawn))
      drawn = all.length
      return viewer.text()
    }
    first.socket.send(Buffer.from('ihello from afar'))
    await until('the text is there', () => first.output().toString().includes('afar'))
    first.socket.send(JSON.stringify({ type: 'resize', cols: 80, rows: 25 }))
    viewer.resize({ cols: 80, rows: 25 })
    // It fills the larger screen, but for its own last line.
    const isRedrawn = async (): Promise<boolean> => {
      await see()
      return viewer.lines()[23]?.startsWith('~') === true
    }
    await until('it is drawn anew', isRedrawn)
    const seen = await see()
    expect(seen).toContain('hello from afar')
    first.socket.terminate()
    const second = await attach(shell)
    await until('the screen came', () => second.screens().length > 0)
    const again = openViewer({ cols: 80, rows: 25 })
    for (const screen of second.screens()) await again.draw(screen)
    await again.draw(second.output())
    expect(again.text()).toBe(seen)
    second.socket.send(Buffer.from('\u001b:q!\r'))
    expect(await second.closed).toBe(1000)
    expect(second.texts()).toEqual([{ type: 'ended', ended: { by: 'exit', code: 0 }, exitCode: 0 }])
  })

  it('goes on behind the last byte that was read', async () => {
    const shell = await open({ pty: true, argv: ['/bin/sh', '-c', 'echo one; read a; echo two; read b'] })
    const first = await attach(shell, '?from=0')
    await until('the first line', () => first.output().toString().includes('one\r\n'))
    const from = first.offset()
    first.socket.close()
    await first.closed
    const second = await attach(shell, `?from=${from}`)
    second.socket.send(Buffer.from('\n'))
    await until('the second line', () => second.output().toString().includes('two\r\n'))
    expect([second.output().toString(), second.screens()]).toEqual(['\r\ntwo\r\n', []])
    second.socket.terminate()
    await ground.call('DELETE', shell)
  })

  it('a WebSocket without an origin, or from a foreign one, is refused', async () => {
    const shell = await open({ pty: true })
    const headers = { authorization: `Bearer ${ground.token}` }
    for (const origin of [undefined, 'https://evil.example', 'null', `http://localhost:${ground.port + 1}`])
      expect(await refusedWith(attach(shell, '', { headers, ...(origin === undefined ? {} : { origin }) }))).toBe(403)
    expect(
      await refusedWith(attach(shell, '', { origin: ground.url, headers: { ...headers, host: 'evil.example' } })),
    ).toBe(403)
    expect(await refusedWith(attach(shell, '', withToken()))).toBe(101)
    await ground.call('DELETE', shell)
  })

  it('a WebSocket needs a token that may do it, and sees no object of another project', async () => {
    const shell = await open({ pty: true })
    const [reader, stranger] = [await ground.makeToken('read', null), await ground.makeToken('exec', 'elsewhere')]
    expect(await refusedWith(attach(shell, '', { origin: ground.url }))).toBe(401)
    expect(await refusedWith(attach(shell, '', withToken('gbx_wrong')))).toBe(401)
    expect(await refusedWith(attach(shell, `?token=${ground.token}`, { origin: ground.url }))).toBe(401)
    expect(await refusedWith(attach(shell, '', withToken(reader)))).toBe(403)
    expect(await refusedWith(attach(shell, '', withToken(stranger)))).toBe(404)
    expect(await refusedWith(attach(`${sandbox}/shells/sh_${'0'.repeat(32)}`))).toBe(404)
    expect(await refusedWith(attach(shell, '?from=-1'))).toBe(400)
    expect(await refusedWith(attach(shell, '?unknown=1'))).toBe(400)
    await ground.call('DELETE', shell)
  })

  it('a WebSocket is a request of its token, or of its address, and beyond their share it is refused', async () => {
    const slow = await startServer({ flags: ['--limit', 'requestsPerSecond=1', '--limit', 'burst=10'] })
    try {
      const other = await slow.makeToken('exec', null)
      const nowhere = `${sandbox}/shells/sh_${'0'.repeat(32)}`
      const many = (options: ClientOptions): Promise<readonly number[]> =>
        Promise.all(Array.from({ length: 40 }, () => refusedWith(attach(nowhere, '', options, undefined, slow))))
      const ofToken = await many(withToken(slow.token, slow))
      expect(new Set(ofToken)).toEqual(new Set([404, 429]))
      expect(new Set(await many(withToken('gbx_wrong', slow)))).toEqual(new Set([401, 429]))
      expect(await refusedWith(attach(nowhere, '', withToken(other, slow), undefined, slow))).toBe(404)
    } finally {
      await slow.stop()
    }
  })

  it('a ticket is good once, for half a minute, and for one terminal', async () => {
    const [one, other] = [await open({ pty: true }), await open({ pty: true })]
    const ticketFor = async (shell: string): Promise<string> =>
      String((await ground.call('POST', `${shell}/tickets`)).at('ticket'))
    const page = { origin: ground.url }
    const withTicket = (shell: string, ticket: string): Promise<Seen> =>
      attach(shell, '', page, ['glovebox.terminal.v1', `glovebox.ticket.${ticket}`])
    const ticket = await ticketFor(one)
    const seen = await withTicket(one, ticket)
    expect(seen.socket.protocol).toBe('glovebox.terminal.v1')
    expect(await refusedWith(withTicket(one, ticket))).toBe(401)
    expect(await refusedWith(withTicket(other, await ticketFor(one)))).toBe(401)
    expect(await refusedWith(withTicket(one, 'guessed'))).toBe(401)
    const reader = await ground.makeToken('read', null)
    expect((await ground.call('POST', `${one}/tickets`, { token: reader })).status).toBe(403)
    seen.socket.terminate()
    for (const shell of [one, other]) await ground.call('DELETE', shell)
  })

  it('a ticket of a token that was revoked since is refused', async () => {
    const shell = await open({ pty: true })
    const made = await ground.call('POST', '/tokens', { body: { name: 'short', scopes: ['exec'], project: null } })
    const protocols = async (): Promise<string[]> => {
      const issued = await ground.call('POST', `${shell}/tickets`, { token: String(made.at('token')) })
      return ['glovebox.terminal.v1', `glovebox.ticket.${String(issued.at('ticket'))}`]
    }
    const [before, after] = [await protocols(), await protocols()]
    const seen = await attach(shell, '', { origin: ground.url }, before)
    seen.socket.terminate()
    await ground.call('DELETE', `/tokens/${String(made.at('id'))}`)
    expect(await refusedWith(attach(shell, '', { origin: ground.url }, after))).toBe(401)
    await ground.call('DELETE', shell)
  })

  it('a connection ends when its token is revoked', async () => {
    const shell = await open({ pty: true })
    const made = await ground.call('POST', '/tokens', { body: { name: 'short', scopes: ['exec'], project: null } })
    const seen = await attach(shell, '', withToken(String(made.at('token'))))
    await ground.call('DELETE', `/tokens/${String(made.at('id'))}`)
    expect(await seen.closed).toBe(1008)
    expect(seen.texts()).toEqual([{ type: 'error', error: expect.objectContaining({ code: 'TOKEN_REVOKED' }) }])
    await ground.call('DELETE', shell)
  })

  it('a message beyond the limit ends the connection, and so does one that means nothing', async () => {
    const shell = await open({ pty: true })
    const large = await attach(shell)
    large.socket.send(Buffer.alloc(65 * 1024))
    expect(await large.closed).toBe(1009)
    for (const text of ['no JSON', '{"type":"resize","cols":0,"rows":1}', '{"type":"other"}']) {
      const odd = await attach(shell)
      odd.socket.send(text)
      expect(await odd.closed).toBe(1008)
      expect(odd.texts()).toEqual([{ type: 'error', error: expect.objectContaining({ code: 'INVALID_INPUT' }) }])
    }
    await ground.call('DELETE', shell)
  })

  it('a reader that takes nothing is let go, and the terminal goes on', async () => {
    // With a patience that a reader has who is only kept waiting by a busy machine.
    const brief = await startServer({ flags: ['--limit', 'stalledMs=6000', '--limit', 'heartbeatMs=500'] })
    const place = `/sandboxes/${String((await brief.call('POST', '/sandboxes', { body: {} })).at('id'))}`
    const argv = ['/bin/sh', '-c', 'yes | head -c 2000000; echo over; sleep 100']
    const shell = await open({ pty: true, argv }, { ground: brief, sandbox: place })
    const slow = connect(brief.port, '127.0.0.1')
    slow.write(
      [
        `GET ${shell}/attach?from=0 HTTP/1.1`,
        `Host: 127.0.0.1:${brief.port}`,
        `Origin: ${brief.url}`,
        `Authorization: Bearer ${brief.token}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        '\r\n',
      ].join('\r\n'),
    )
    await once(slow, 'data')
    slow.pause()
    const gone = once(slow, 'close')
    const quick = await attach(shell, '', withToken(brief.token, brief), undefined, brief)
    await until('the end came by', () => quick.output().toString().includes('over') || hasOver(quick), 40_000)
    slow.resume()
    slow.on('error', () => {})
    await gone
    quick.socket.terminate()
    await brief.stop()
  })

  it('a writer whose program reads nothing is made to wait', async () => {
    const shell = await open({ pty: true, argv: ['/bin/sh', '-c', 'stty raw -echo; echo ready; sleep 100'] })
    const seen = await attach(shell)
    await until('the program is there', () => seen.output().toString().includes('ready') || hasReady(seen))
    const before = memory()
    for (let count = 0; count < 1200; count++) seen.socket.send(Buffer.alloc(48 * 1024, 'x'))
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(seen.socket.bufferedAmount).toBeGreaterThan(1024 * 1024)
    // Of the 56 MiB; what else the server does in a second takes its share, too.
    expect(memory() - before).toBeLessThan(32 * 1024 * 1024)
    seen.socket.terminate()
    await ground.call('DELETE', shell)
  })
})

describe('a server that stops', () => {
  it('ends its terminals and closes their connections', async () => {
    const other = await startServer()
    const place = `/sandboxes/${String((await other.call('POST', '/sandboxes', { body: {} })).at('id'))}`
    const made = await other.call('POST', `${place}/shells`, { body: { pty: true } })
    const socket = new WebSocket(
      `${other.url.replace('http', 'ws')}${String(made.headers['location'])}/attach`,
      ['glovebox.terminal.v1'],
      { origin: other.url, headers: { authorization: `Bearer ${other.token}` } },
    )
    await once(socket, 'open')
    const closed = once(socket, 'close')
    const { code } = await other.stop()
    const [reason] = (await closed) as [number]
    expect([code, [1000, 1001].includes(reason)]).toEqual([0, true])
  })
})

const hasOver = (seen: Seen): boolean => seen.screens().some((screen) => screen.toString().includes('over'))
const hasReady = (seen: Seen): boolean => seen.screens().some((screen) => screen.toString().includes('ready'))

/** Of the server, in bytes. */
function memory(): number {
  const status = readFileSync(`/proc/${ground.server.child.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}

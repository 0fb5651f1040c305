// A server from its first start to its end: tokens, what it prints and logs, what it counts and records, and how it drains.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { behindFirstThread } from '../../src/process/own-threads.ts'
import {
  headerOf,
  judgeFetched,
  judgeHeard,
  openContract,
  type Document,
  type Heard,
} from '../fixtures/server-contract.ts'
import { start, type Started } from './command-line.ts'
import { codeOf, startServer, type ServerGround } from './server-ground.ts'
import { waitForRun } from './server-objects.ts'

const open: ServerGround[] = []
const places: string[] = []

const begin = async (...args: Parameters<typeof startServer>): Promise<ServerGround> => {
  const ground = await startServer(...args)
  open.push(ground)
  return ground
}
const makePlace = (): string => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-start-')))
  places.push(place)
  return place
}

const startInWords = (place: string, flags: readonly string[]): Started =>
  start(['serve', '--data', join(place, 'data'), ...flags], {
    cwd: place,
    env: { GLOVEBOX_STATE_DIR: join(place, 'state') },
  })

const startAt = (place: string, flags: readonly string[]): Started =>
  start(['serve', '--data', join(place, 'data'), '--json', ...flags], {
    cwd: place,
    env: { GLOVEBOX_STATE_DIR: join(place, 'state') },
  })

afterEach(async () => {
  for (const ground of open.splice(0)) if (ground.server.child.exitCode === null) await ground.stop()
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true })
})

describe('the threads of a server', () => {
  /** As the kernel has it, the name in parentheses aside. */
  const niceIn = (stat: string): number => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])

  it("V8's own go behind the one that answers, and neither those that we start nor sandboxes do", async () => {
    const ground = await begin()
    const made = await ground.call('POST', '/sandboxes', { body: { project: 'p' } })
    const run = await ground.call('POST', `/sandboxes/${String(made.at('id'))}/commands`, {
      body: { command: ['cat', '/proc/self/stat'] },
    })
    expect(niceIn(String(run.at('stdout')))).toBe(0)
    const { pid } = ground.server.child
    const tasks = `/proc/${pid}/task`
    const niceOf = (thread: string | number): number => niceIn(readFileSync(`${tasks}/${thread}/stat`, 'utf8'))
    const others = readdirSync(tasks).filter((thread) => Number(thread) !== pid)
    expect(niceOf(pid as number)).toBe(0)
    const lowered = others.filter((thread) => niceOf(thread) === behindFirstThread)
    const ordinary = others.filter((thread) => niceOf(thread) === 0)
    // Those that read and write files are as ordinary as the first.
    expect([lowered.length > 0, ordinary.length >= 4, lowered.length + ordinary.length]).toEqual([
      true,
      true,
      others.length,
    ])
  })
})

describe('the first start', () => {
  it('makes one token, prints it once, and never again', async () => {
    const place = makePlace()
    const first = await begin({ place })
    expect(first.token).toMatch(/^gbx_[A-Za-z0-9_-]{43}$/)
    await first.stop()
    const second = await begin({ place, token: first.token })
    expect((await second.call('GET', '/tokens')).at('items.0.name')).toBe('first')
    expect(((await second.call('GET', '/tokens')).at('items') as readonly unknown[]).length).toBe(1)
    const { stdout } = await second.stop()
    expect(stdout).not.toContain('gbx_')
  })

  it("the first token is written to a new file of its owner's alone", async () => {
    const place = makePlace()
    const file = join(place, 'token.txt')
    const server = startAt(place, ['--port', '0', '--token-file', file])
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/^gbx_[A-Za-z0-9_-]{43}\n$/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    server.child.kill('SIGTERM')
    const { stdout, code } = await server.finished
    expect([code, stdout.includes('gbx_')]).toEqual([0, false])
  })

  it('a file for the first token that is there already is not written into, and nothing is started', async () => {
    const place = makePlace()
    const file = join(place, 'token.txt')
    writeFileSync(file, 'mine')
    const { code, stderr } = await startAt(place, ['--port', '0', '--token-file', file]).finished
    expect([code, stderr]).toEqual([1, expect.stringContaining('its file cannot be made')])
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })

  it('a file for the first token is not made where there is a token already, and the operator is told', async () => {
    const place = makePlace()
    const first = await begin({ place })
    await first.stop()
    const file = join(place, 'token.txt')
    const tellings = [
      (stdout: string) => expect(JSON.parse(stdout)).toMatchObject({ token_file: null, hint: expect.any(String) }),
      (stdout: string) => expect(stdout).toMatch(/^token {2,}no file was written, since there is a token already/m),
    ]
    for (const [at, holds] of tellings.entries()) {
      const flags = ['--port', '0', '--token-file', file]
      const server = at === 0 ? startAt(place, flags) : startInWords(place, flags)
      let told = ''
      server.child.stdout?.on('data', (chunk: Buffer) => (told += chunk.toString()))
      await expect.poll(() => told).toContain('token create <name>')
      holds(told)
      server.child.kill('SIGTERM')
      expect([(await server.finished).code, existsSync(file)]).toEqual([0, false])
    }
  })

  it("a socket file is its owner's alone", async () => {
    const place = makePlace()
    const socketPath = join(place, 'server.sock')
    const server = startAt(place, ['--socket', socketPath])
    let printed = ''
    server.child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    await expect.poll(() => printed).toContain('\n')
    await expect.poll(() => statSync(socketPath).mode & 0o777).toBe(0o600)
    const ask = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Heard> => {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const asking = { socketPath, path, headers: { host: 'localhost', ...headers } }
        request(asking, resolve).on('error', reject).end()
      })
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
      return { status: response.statusCode ?? 0, text, header: headerOf(response) }
    }
    const stranger = await ask('/sandboxes')
    expect(stranger.status).toBe(401)
    const { token } = JSON.parse(printed) as { readonly token: string }
    const { text } = await ask('/openapi.json', { authorization: `Bearer ${token}` })
    const contract = openContract(JSON.parse(text) as Document)
    expect(judgeHeard(contract, { method: 'GET', path: '/sandboxes' }, stranger)).toEqual([])
    server.child.kill('SIGTERM')
    expect((await server.finished).code).toBe(0)
  })

  it('is refused in words where it cannot be done', async () => {
    const ground = await begin()
    const taken = await ground.glovebox(['serve', '--port', String(ground.port), '--data', ground.data])
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('the port is taken')])
    const limit = await ground.glovebox(['serve', '--limit', 'jsonByte=1'])
    expect([limit.code, limit.stderr]).toEqual([2, expect.stringContaining('Did you mean "jsonBytes"?')])
  })

  it.each([
    [['--allow-origin', 'foo'], 'https://console.example'],
    [['--allow-host', 'a b'], 'sandbox.example:8443'],
    [['--socket', 'missing/server.sock'], 'Make the directory first'],
    [['--socket', 'notes.txt'], 'Name a file that is not there yet'],
    [['--socket', `${'x'.repeat(120)}.sock`], 'less deep'],
  ] as const)('%j can never be served, and is refused with what to write instead', async (flags, hint) => {
    const place = makePlace()
    writeFileSync(join(place, 'notes.txt'), 'mine')
    const { code, stderr } = await startAt(place, flags).finished
    expect([code, stderr]).toEqual([2, expect.stringContaining(hint)])
    expect(stderr).not.toContain('--port')
    expect([readdirSync(place), readFileSync(join(place, 'notes.txt'), 'utf8')]).toEqual([['notes.txt'], 'mine'])
  })

  it('is refused where the database cannot be reached, with where to look', async () => {
    const place = makePlace()
    const { code, stderr } = await start(['serve', '--port', '0', '--data', join(place, 'data')], {
      cwd: place,
      env: { GLOVEBOX_STATE_DIR: join(place, 'state'), DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
    }).finished
    expect([code, stderr]).toEqual([1, expect.stringMatching(/it cannot be reached\n[^]*hint: .*DATABASE_URL/)])
  })

  it('takes --grace as the help shows its default', async () => {
    const place = makePlace()
    const help = await start(['serve', '--help'], { cwd: place }).finished
    const shown = /--grace <duration>[^(]*\(default:\s+([^)]+)\)/.exec(help.stdout)?.[1] ?? 'none'
    const { stderr } = await startAt(place, ['--grace', shown, '--limit', 'none=1']).finished
    // The limit, which nobody knows, is looked at behind the flags.
    expect(stderr).toContain('Cannot move the limit none')
  })
})

describe('tokens on the command line', () => {
  it('are made for a running server, listed without their secret, and revoked within seconds', async () => {
    const ground = await begin()
    const made = await ground.glovebox(['token', 'create', 'ci', '--scope', 'read', '--project', 'demo', '--json'])
    const { id, token } = JSON.parse(made.stdout) as { readonly id: string; readonly token: string }
    expect((await ground.call('GET', '/sandboxes', { token })).status).toBe(200)
    expect((await ground.call('POST', '/sandboxes', { token })).status).toBe(403)
    const listed = await ground.glovebox(['token', 'list'])
    expect(listed.stdout).toContain(id)
    expect(listed.stdout).not.toContain(token)
    expect((await ground.glovebox(['token', 'revoke', id])).code).toBe(0)
    await expect
      .poll(async () => (await ground.call('GET', '/sandboxes', { token })).status, { interval: 250 })
      .toBe(401)
    expect((await ground.glovebox(['token', 'revoke', 'tok_unknown'])).stderr).toContain('no such token')
  })

  it('a stream that was opened with a token ends soon after it is revoked', async () => {
    const ground = await begin({ flags: ['--limit', 'heartbeatMs=300', '--grace', '1s'] })
    const token = await ground.makeToken('exec', null)
    const id = String((await ground.call('GET', '/tokens?limit=1')).at('items.0.id'))
    const sandbox = String((await ground.call('POST', '/sandboxes', { token })).at('id'))
    const following = ground.call('POST', `/sandboxes/${sandbox}/commands`, {
      token,
      body: { command: 'touch begun; sleep 50' },
      headers: { accept: 'text/event-stream' },
    })
    const begun = async () => (await ground.call('GET', `/sandboxes/${sandbox}/files/stat?path=begun`)).status
    await expect.poll(begun).toBe(200)
    await ground.call('DELETE', `/tokens/${id}`)
    expect((await following).text).toContain('TOKEN_REVOKED')
  })
})

describe('what an operator sees', () => {
  it('one JSON line for each request, without query, token or body', async () => {
    const ground = await begin()
    const canary = 'canary-0123456789'
    await ground.call('POST', '/sandboxes', { body: { env: { SECRET: canary } } })
    await ground.call('GET', `/sandboxes?project=${canary}`)
    await ground.call('GET', '/sandboxes', { headers: { 'user-agent': 'x\tfake":"line', 'x-secret': canary } })
    const { stderr } = await ground.stop()
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    expect(lines.filter(({ msg }) => msg === 'answered').length).toBeGreaterThanOrEqual(4)
    expect(lines.find(({ route }) => route === '/sandboxes')).toMatchObject({ level: 'info', status: 201 })
    expect(stderr).not.toContain(canary)
    expect(stderr).not.toContain(ground.token)
  })

  it('four execs at a time, unless the settings say otherwise', async () => {
    const ground = await begin()
    expect((await ground.call('GET', '/sandbox/health')).at('execs.max_concurrent')).toBe(4)
  })

  it('counts requests by route, and never by address', async () => {
    const ground = await begin()
    await ground.call('GET', `/sandboxes/sbx_${'0'.repeat(32)}`)
    const { text } = await ground.call('GET', '/metrics')
    expect(text).toMatch(
      /glovebox_http_requests_total\{method="GET",route="\/sandboxes\/\{sandbox_id\}",status="404"\} 1/,
    )
    expect(text).toContain('glovebox_sandboxes 0')
    expect(text).not.toContain('sbx_0')
  })

  it('every change and every refusal is in the audit log, with who and without the secret', async () => {
    const ground = await begin()
    const made = await ground.call('POST', '/sandboxes')
    await ground.call('POST', `/sandboxes/${String(made.at('id'))}/commands`, { body: { command: 'true' } })
    await ground.call('POST', '/sandboxes', { body: { policy: { memoryMb: 100_000 } } })
    for (let tries = 0; tries < 5; tries++) await ground.call('GET', '/sandboxes', { token: 'gbx_wrong' })
    interface Shown {
      readonly action: string
      readonly actor: string
      readonly outcome: string
      readonly subject: string
      readonly data: { readonly code?: string; readonly count?: number }
    }
    let shown = await ground.glovebox(['audit', 'show', '--json'])
    const of = (action: string): readonly Shown[] =>
      shown.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Shown)
        .filter((record) => record.action === action)
    const refusals = (): readonly Shown[] => of('request.refused').filter(({ subject }) => subject === 'get /sandboxes')
    // Those of one second are one record with their count; five may take longer than that.
    const counted = async (): Promise<number> => {
      shown = await ground.glovebox(['audit', 'show', '--json'])
      return refusals().reduce((sum, { data }) => sum + (data.count ?? 0), 0)
    }
    await expect.poll(counted).toBe(5)
    expect(of('sandbox.create').map(({ outcome }) => outcome)).toEqual(['intent', 'done', 'intent', 'failed'])
    expect(of('sandbox.create')[0]?.actor).toMatch(/^token:tok_/)
    expect(of('command.run').map(({ outcome }) => outcome)).toEqual(['intent', 'done'])
    expect(refusals().length).toBeLessThan(5)
    expect(new Set(refusals().map(({ data }) => data.code))).toEqual(new Set(['UNAUTHENTICATED']))
    expect(shown.stdout).not.toContain('gbx_')
    expect((await ground.glovebox(['audit', 'verify'])).code).toBeOneOf([0, 10])
  })

  it('a fault is told to the caller without stack, path or query, and to the operator with all of it', async () => {
    const ground = await begin()
    const runId = String(
      (await ground.call('POST', '/runs', { body: { prompt: 'x', command: ['true'] } })).at('run_id'),
    )
    await waitForRun(ground, runId, 'completed')
    const directory = join(ground.data, 'runs', 'default', runId)
    rmSync(join(directory, 'events.jsonl'))
    mkdirSync(join(directory, 'events.jsonl'))
    const answer = await ground.call('GET', `/runs/${runId}/events?after=987654321`)
    expect([answer.status, codeOf(answer), answer.at('detail')]).toEqual([500, 'INTERNAL', 'Glovebox has a fault.'])
    for (const hidden of [ground.data, ground.state, 'events.jsonl', 'EISDIR', '987654321', '    at '])
      expect([hidden, answer.text.includes(hidden)]).toEqual([hidden, false])
    const requestId = String(answer.at('error.requestId'))
    const told = (): readonly Readonly<Record<string, unknown>>[] =>
      ground
        .log()
        .split('\n')
        .filter((line) => line.includes(requestId) && line.includes('"level":"error"'))
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    await expect.poll(told).toHaveLength(1)
    expect(JSON.stringify(told())).toContain('EISDIR')
    expect(told()[0]).toMatchObject({
      msg: 'a request could not be answered',
      stack: expect.stringContaining('    at '),
    })
    expect(ground.log()).not.toContain('987654321')
  })
})

describe('SIGTERM', () => {
  it('is not ready at once, refuses what is new, lets what runs end, and exits 0', async () => {
    const ground = await begin({ flags: ['--grace', '50s'] })
    const sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
    const untilTold = 'touch begun; while [ ! -e go ]; do sleep 0.05; done'
    const waiting = ground.call('POST', `${sandbox}/commands`, { body: { command: `${untilTold}; echo finished` } })
    const command = ['sh', '-c', `${untilTold}; echo done > /deliverables/d`]
    const run = String((await ground.call('POST', '/runs', { body: { prompt: 'x', command } })).at('run_id'))
    const workspaces = [join(ground.state, sandbox), join(ground.data, 'runs', 'default', run)].map((place) =>
      join(place, 'workspace'),
    )
    await expect.poll(() => workspaces.every((place) => existsSync(join(place, 'begun')))).toBe(true)
    ground.server.child.kill('SIGTERM')
    await expect.poll(async () => (await ground.call('GET', '/readyz')).status).toBe(503)
    expect((await ground.call('GET', '/healthz')).status).toBe(200)
    const refused = await ground.call('POST', '/sandboxes')
    expect([refused.status, codeOf(refused)]).toEqual([503, 'DRAINING'])
    expect(refused.headers['retry-after']).toMatch(/^\d+$/)
    expect((await ground.call('GET', sandbox)).status).toBe(200)
    for (const place of workspaces) writeFileSync(join(place, 'go'), '')
    expect((await waiting).at('stdout')).toBe('finished\n')
    expect((await ground.server.finished).code).toBe(0)
    const shown = await ground.glovebox(['runs', 'show', join(ground.data, 'runs', 'default', run), '--json'])
    expect(shown.stdout).toContain('"completed"')
  })

  it('what does not end within the grace is cancelled as drained, and its reader is told the end', async () => {
    const ground = await begin({ flags: ['--grace', '1s'] })
    const run = String(
      (await ground.call('POST', '/runs', { body: { prompt: 'x', command: ['sleep', '60'] } })).at('run_id'),
    )
    await waitForRun(ground, run, 'running')
    // Whoever comes behind the signal may find nobody there any more.
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${ground.token}` }
    const path = `/runs/${run}/events`
    const following = await fetch(`${ground.url}${path}`, { headers })
    expect(await judgeFetched(ground.contract, { method: 'GET', path, response: following })).toEqual([])
    const told = following.text()
    const begun = performance.now()
    ground.server.child.kill('SIGTERM')
    expect((await ground.server.finished).code).toBe(0)
    expect(performance.now() - begun).toBeLessThan(40_000)
    expect(await told).toContain('run_ended')
    const answer = { status: following.status, type: 'text/event-stream', text: await told }
    expect(ground.contract.judge('GET', path, answer)).toEqual([])
    const record = JSON.parse(readFileSync(join(ground.data, 'runs', 'default', run, 'run.json'), 'utf8')) as object
    expect(record).toMatchObject({ status: 'cancelled', failure_reason: 'drained' })
  })

  it('a command that does not end within the grace is told as cancelled to whoever waits for it or follows it', async () => {
    const ground = await begin({ flags: ['--grace', '1s'] })
    const sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
    const sleeper = (mark: string) => ({ body: { command: `touch ${mark}; sleep 60` } })
    const waiting = ground.call('POST', `${sandbox}/commands`, sleeper('waiting'))
    const following = ground.call('POST', `${sandbox}/commands`, {
      ...sleeper('following'),
      headers: { accept: 'text/event-stream' },
    })
    const marks = ['waiting', 'following'].map((mark) => join(ground.state, sandbox, 'workspace', mark))
    await expect.poll(() => marks.every((mark) => existsSync(mark))).toBe(true)
    ground.server.child.kill('SIGTERM')
    expect((await waiting).at('ended')).toMatchObject({ by: 'cancel' })
    expect((await following).text).toMatch(/event: ended\ndata: .*"ended":\{"by":"cancel"/)
    expect((await ground.server.finished).code).toBe(0)
  })

  it('a second one does not wait for the grace', async () => {
    const ground = await begin({ flags: ['--grace', '60s'] })
    const run = String(
      (await ground.call('POST', '/runs', { body: { prompt: 'x', command: ['sleep', '60'] } })).at('run_id'),
    )
    await waitForRun(ground, run, 'running')
    const begun = performance.now()
    ground.server.child.kill('SIGTERM')
    await expect.poll(async () => (await ground.call('GET', '/readyz')).status).toBe(503)
    ground.server.child.kill('SIGTERM')
    expect((await ground.server.finished).code).toBe(0)
    expect(performance.now() - begun).toBeLessThan(40_000)
  })
})

// Requests that cross each other: whatever is ended while it is used, each of them has one of the answers that are written down for it.
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let ground: ServerGround

beforeAll(async () => {
  ground = await startServer({ flags: ['--grace', '1s', '--log-level', 'error'] })
})
afterAll(async () => {
  await ground.stop()
})

const makeSandbox = async (): Promise<string> => {
  const made = await ground.call('POST', '/sandboxes')
  if (made.status !== 201) throw new Error(made.text)
  return `/sandboxes/${String(made.at('id'))}`
}
const run = (sandbox: string, command: string): Promise<Answered> =>
  ground.call('POST', `${sandbox}/commands`, { body: { command } })
const told = (answer: Answered): string => `${answer.status}${answer.status < 400 ? '' : ` ${String(codeOf(answer))}`}`

/** What each request may be answered with. */
type Allowed = Readonly<Record<string, readonly string[]>>

const gone = ['404 NOT_FOUND', '410 SANDBOX_GONE']

interface Asked {
  readonly name: string
  /** Undefined: the connection was cut, as a download is. */
  readonly answer: Promise<Answered | undefined>
}

/** Lets requests cross each other, with a pause between the first and the others. Gives what was not to be answered so. */
async function cross(
  allowed: Allowed,
  seen: Map<string, Set<string>>,
  {
    before,
    after,
    pauseMs,
  }: { readonly before: () => Asked[]; readonly after: () => Asked[]; readonly pauseMs: number },
): Promise<readonly string[]> {
  const early = before()
  await new Promise((resolve) => setTimeout(resolve, pauseMs))
  const wrong: string[] = []
  for (const { name, answer } of [...early, ...after()]) {
    const got = await answer
    const outcome = got === undefined ? 'cut' : told(got)
    seen.set(name, (seen.get(name) ?? new Set()).add(outcome))
    if (allowed[name]?.includes(outcome) !== true) wrong.push(`${name}: ${outcome}`)
  }
  return wrong
}

const call = (name: string, method: string, path: string, asked: object = {}): Asked => ({
  name,
  answer: ground.call(method, path, asked),
})
const pauses = [0, 2, 8, 30, 100]

describe('a sandbox that is deleted while it is used', () => {
  const allowed: Allowed = {
    command: ['200', ...gone],
    download: ['200', 'cut', ...gone],
    upload: ['200', ...gone],
    execute: ['200', ...gone],
    'open shell': ['201', ...gone],
    pause: ['200', ...gone],
    delete: ['204', '404 NOT_FOUND'],
    // On connections of their own, so that they may come first all the same.
    'late command': ['200', ...gone],
    // While its files go, there is nobody who could describe it.
    'late look': ['200', '404 NOT_FOUND', '409 BUSY'],
    'late fork': ['201', '409 BUSY', ...gone],
  }

  it('each request has its result, or is told that it is gone; nothing is a fault', async () => {
    const seen = new Map<string, Set<string>>()
    for (const pauseMs of pauses) {
      const sandbox = await makeSandbox()
      const file = `${sandbox}/files?path=/workspace/large`
      await ground.call('PUT', file, { raw: Buffer.alloc(4 * 1024 * 1024, 'x') })
      const wrong = await cross(allowed, seen, {
        pauseMs,
        before: () => [
          call('command', 'POST', `${sandbox}/commands`, { body: { command: 'sleep 0.05; echo out' } }),
          // A download that is cut off is seen as one.
          { name: 'download', answer: ground.call('GET', file).catch(() => undefined) },
          call('upload', 'PUT', `${sandbox}/files?path=/workspace/new`, { raw: 'x' }),
          call('execute', 'POST', `${sandbox}/execute`, { body: { action: 'stat', input: { path: 'large' } } }),
          call('open shell', 'POST', `${sandbox}/shells`, { body: {} }),
          call('pause', 'POST', `${sandbox}/pause`),
        ],
        after: () => [
          ...[1, 2, 3].map(() => call('delete', 'DELETE', sandbox)),
          call('late command', 'POST', `${sandbox}/commands`, { body: { command: 'true' } }),
          call('late look', 'GET', sandbox),
          call('late fork', 'POST', `${sandbox}/fork`, { body: {} }),
        ],
      })
      expect(wrong).toEqual([])
      expect((await ground.call('GET', sandbox)).status).toBe(404)
      expect(told(await run(sandbox, 'true'))).toBe('404 NOT_FOUND')
    }
    expect(ground.log()).toBe('')
    // Control: they did cross.
    for (const name of ['command', 'delete']) expect(seen.get(name)).toContain(allowed[name]?.[0])
    expect([...seen.values()].some((outcomes) => gone.some((each) => outcomes.has(each)))).toBe(true)
  })

  it('so it is with a shell that is closed, and the sandbox goes on', async () => {
    const closed = ['404 NOT_FOUND', '410 SHELL_CLOSED']
    const shellAllowed: Allowed = {
      command: ['200', ...closed],
      background: ['202', ...closed],
      wait: ['200', ...closed],
      look: ['200', '404 NOT_FOUND'],
      close: ['204', '404 NOT_FOUND'],
      'late command': closed,
    }
    const seen = new Map<string, Set<string>>()
    const sandbox = await makeSandbox()
    for (const pauseMs of pauses) {
      const shell = String((await ground.call('POST', `${sandbox}/shells`, { body: {} })).headers['location'])
      const wrong = await cross(shellAllowed, seen, {
        pauseMs,
        before: () => [
          call('command', 'POST', `${shell}/commands`, { body: { command: 'sleep 0.05; echo out' } }),
          call('background', 'POST', `${shell}/commands`, { body: { command: 'sleep 60', background: true } }),
          call('wait', 'GET', `${shell}/wait?wait_ms=20000`),
          call('look', 'GET', shell),
        ],
        after: () => [
          ...[1, 2, 3].map(() => call('close', 'DELETE', shell)),
          call('late command', 'POST', `${shell}/commands`, { body: { command: 'true' } }),
        ],
      })
      expect(wrong).toEqual([])
      expect(told(await ground.call('GET', shell))).toBe('404 NOT_FOUND')
    }
    expect((await run(sandbox, 'echo on')).at('stdout')).toBe('on\n')
    expect(ground.log()).toBe('')
    for (const name of ['background', 'close', 'look']) expect(seen.get(name)).toContain(shellAllowed[name]?.[0])
    await ground.call('DELETE', sandbox)
  })
})

describe('what is ended while it is used', () => {
  it('what is cancelled from many sides at once ends once', async () => {
    const body = { project_id: 'races', exec: { kind: 'shell', command: 'sleep 60' } }
    const exec = await ground.call('POST', '/sandbox/execs?wait=false', { body })
    const path = `/sandbox/execs/${String(exec.at('exec_id'))}`
    const cancelled = await Promise.all(Array.from({ length: 10 }, () => ground.call('POST', `${path}/cancel`)))
    expect(new Set(cancelled.map((answer) => `${answer.status} ${String(answer.at('status'))}`))).toEqual(
      new Set(['200 CANCELLED']),
    )
    expect(new Set(cancelled.map((answer) => answer.at('ended_at'))).size).toBe(1)
  })

  it('an exec that is cancelled is told as it stands to whoever looks, and its stream ends', async () => {
    const seen = new Map<string, Set<string>>()
    const all = ['look', 'stream', 'stdout', 'artifacts', 'cancel']
    const allowed = Object.fromEntries(all.map((name) => [name, ['200']]))
    for (const pauseMs of pauses) {
      const body = { project_id: 'races', exec: { kind: 'shell', command: 'echo out; sleep 60' } }
      const path = `/sandbox/execs/${String((await ground.call('POST', '/sandbox/execs?wait=false', { body })).at('exec_id'))}`
      const stream = ground.call('GET', `${path}/stream`)
      const using = (): Asked[] => [
        call('look', 'GET', path),
        call('stdout', 'GET', `${path}/stdout`),
        call('artifacts', 'GET', `${path}/artifacts`),
      ]
      const wrong = await cross(allowed, seen, {
        pauseMs,
        before: () => [...using(), { name: 'stream', answer: stream }],
        after: () => [...[1, 2, 3].map(() => call('cancel', 'POST', `${path}/cancel`)), ...using()],
      })
      expect(wrong).toEqual([])
      expect((await stream).text).toMatch(/event: end\n/)
      expect((await ground.call('GET', path)).at('status')).toBe('CANCELLED')
    }
    expect([...seen.keys()].toSorted()).toEqual(all.toSorted())
    expect(ground.log()).toBe('')
  })

  it('a run that is cancelled is decided once, and its events end', async () => {
    const allowed: Allowed = {
      look: ['200'],
      events: ['200'],
      artifacts: ['200'],
      cancel: ['200'],
      answer: ['409 ILLEGAL_TRANSITION', '409 RUN_ENDED'],
      approve: ['409 ILLEGAL_TRANSITION', '409 RUN_ENDED', '409 BUSY'],
    }
    const seen = new Map<string, Set<string>>()
    for (const pauseMs of pauses) {
      const begun = await ground.call('POST', '/runs', { body: { prompt: 'x', command: ['sleep', '60'] } })
      const path = `/runs/${String(begun.at('run_id'))}`
      const events = ground.call('GET', `${path}/events`, { headers: { accept: 'text/event-stream' } })
      const wrong = await cross(allowed, seen, {
        pauseMs,
        before: () => [
          { name: 'events', answer: events },
          call('look', 'GET', path),
          call('answer', 'POST', `${path}/answer`, { body: { text: 'yes' } }),
          call('approve', 'POST', `${path}/approve`, { body: {} }),
        ],
        after: () => [
          ...[1, 2, 3, 4].map(() => call('cancel', 'POST', `${path}/cancel`)),
          call('artifacts', 'GET', `${path}/artifacts`),
          call('look', 'GET', path),
        ],
      })
      expect(wrong).toEqual([])
      expect((await events).text.match(/event: run_ended\n/g)).toHaveLength(1)
      expect((await ground.call('GET', path)).at('record.status')).toBe('cancelled')
    }
    expect([...seen.keys()].toSorted()).toEqual(Object.keys(allowed).toSorted())
    expect(ground.log()).toBe('')
  })
})

describe('a fault of the host', () => {
  it('is told with an id and nothing of the host, and to the operator with its cause', async () => {
    const body = { project_id: 'faults', exec: { kind: 'shell', command: 'echo out' } }
    const exec = await ground.call('POST', '/sandbox/execs', { body })
    const place = join(ground.data, 'workspace', String(exec.at('artifacts_dir')))
    rmSync(place, { recursive: true })
    writeFileSync(place, 'where a directory was')
    const answer = await ground.call('GET', `/sandbox/execs/${String(exec.at('exec_id'))}/artifacts`)
    expect([answer.status, codeOf(answer)]).toEqual([500, 'INTERNAL'])
    const text = JSON.stringify(answer.headers) + answer.text
    for (const inside of [ground.data, 'workspace', 'node:', '.cjs', 'ENOTDIR', ' at ', 'select'])
      expect([inside, text.includes(inside)]).toEqual([inside, false])
    const requestId = String(answer.at('error.requestId'))
    expect(requestId).toBe(answer.headers['x-request-id'])
    const lineOf = (): string | undefined =>
      ground
        .log()
        .split('\n')
        .find((each) => each.includes(requestId))
    await expect.poll(lineOf).toBeDefined()
    expect(JSON.parse(lineOf() ?? '{}')).toMatchObject({ level: 'error', detail: expect.stringContaining(place) })
  })
})

describe('runs that are asked for at once', () => {
  it('one token has no more at work than leave room for others, and the rest are told when to come again', async () => {
    const body = { project: 'crowd', prompt: 'Wait.', command: ['sleep', '600'] }
    const answers = await Promise.all(Array.from({ length: 24 }, () => ground.call('POST', '/runs', { body })))
    const made = answers.filter(({ status }) => status === 201)
    const refused = answers.filter(({ status }) => status !== 201)
    expect([made.length, new Set(refused.map(told))]).toEqual([16, new Set(['429 TOO_MANY_REQUESTS'])])
    for (const { headers } of refused) expect(headers['retry-after']).toBe('5')
    expect(readdirSync(join(ground.data, 'runs', 'crowd'))).toHaveLength(16)
    const other = await ground.makeToken('exec', 'others')
    const besides = { prompt: 'Do it.', command: ['true'] }
    expect((await ground.call('POST', '/runs', { token: other, body: besides })).status).toBe(201)
    await Promise.all(made.map((each) => ground.call('POST', `/runs/${String(each.at('run_id'))}/cancel`)))
    // Control: the places are free again.
    expect((await ground.call('POST', '/runs', { body: { ...body, command: ['true'] } })).status).toBe(201)
  })
})

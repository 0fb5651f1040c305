// Networks drop, reset, close halfway and crawl. What the client hands on is whole all the same: every byte once, in order.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import type { Glovebox, ServerOptions } from '../../src/client/index.ts'
import { type ChaosProxy, type Mischief, openChaosProxy } from '../fixtures/chaos-proxy.ts'
import { client, openClientGround, type ClientGround } from './client-ground.ts'

let ground: ClientGround
let proxy: ChaosProxy

beforeAll(async () => {
  proxy = await openChaosProxy()
  ground = await openClientGround({ flags: ['--allow-host', `127.0.0.1:${proxy.port}`], restarts: true })
  proxy.aim(ground)
  ground.judgeAt(proxy.url)
})
afterAll(async () => {
  await proxy.close()
  await ground[Symbol.asyncDispose]()
})

const patient: Partial<ServerOptions> = {
  retry: { retries: 20, reconnects: 20, firstMs: 5, longestMs: 100 },
  silentMs: 400,
}
const through = (): ServerOptions => ({ url: proxy.url, token: ground.token, ...patient })
const straight = (): Glovebox => client.connect({ url: ground.url, token: ground.token })

/** The first connections misbehave, and then the network is well. */
const misbehaving = async (times: number, mischief: (connection: number) => Mischief): Promise<void> => {
  await proxy.sever()
  const begun = proxy.connections
  proxy.behave((connection) => {
    const number = connection - begun
    return number < times ? mischief(number) : { kind: 'none' }
  })
}
const well = (): void => proxy.behave(() => ({ kind: 'none' }))

const sha256 = (chunks: readonly Uint8Array[]): string => {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}
const textOf = (chunks: readonly Uint8Array[]): string => Buffer.concat(chunks).toString('utf8')

/** 300 lines that know their number, in no haste, on both outputs; and bytes that are no text. */
const script = `i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "line $i of the output, é and \\360\\237\\246\\212"
  [ $((i % 10)) = 0 ] && { printf 'error %d \\377\\n' $i >&2; sleep 0.02; }; done; exit 5`

interface Heard {
  readonly out: readonly Uint8Array[]
  readonly err: readonly Uint8Array[]
}

async function expected(): Promise<{ readonly out: string; readonly err: string }> {
  await using sandbox = await straight().sandboxes.create()
  const { stdoutBytes, stderrBytes, exitCode } = await sandbox.commands.run(script)
  expect(exitCode).toBe(5)
  expect(textOf([stdoutBytes]).split('\n')).toHaveLength(301)
  return { out: sha256([stdoutBytes]), err: sha256([stderrBytes]) }
}

const disturbances: readonly (readonly [string, (connection: number) => Mischief])[] = [
  ['reset', (n) => ({ kind: 'reset', afterBytes: 1500 + n * 1300 })],
  ['closed halfway', (n) => ({ kind: 'half-close', afterBytes: 1600 + n * 900 })],
  ['dropped without a word', (n) => ({ kind: 'drop', afterBytes: 1700 + n * 2000 })],
  ['refused', (n) => (n % 2 === 0 ? { kind: 'reset', afterBytes: 1800 + n * 500 } : { kind: 'refuse' })],
]

describe('the output of a command', () => {
  async function heardIn(sandbox: Sandbox): Promise<Heard & { readonly exitCode: number; readonly stdout: string }> {
    const out: Uint8Array[] = []
    const err: Uint8Array[] = []
    const { exitCode, stdout, ended } = await sandbox.commands.run(script, {
      onStdout: (chunk) => void out.push(chunk),
      onStderr: (chunk) => void err.push(chunk),
    })
    expect(ended).toEqual({ by: 'exit', code: 5 })
    return { out, err, exitCode, stdout }
  }

  it.each(disturbances)('comes whole over connections that are %s', async (_, mischief) => {
    const wanted = await expected()
    well()
    await using sandbox = await client.Sandbox.create(through())
    const begun = proxy.connections
    await misbehaving(7, mischief)
    const { out, err, stdout } = await heardIn(sandbox)
    expect({ out: sha256(out), err: sha256(err) }).toEqual(wanted)
    expect(stdout).toBe(textOf(out))
    expect(proxy.connections - begun).toBeGreaterThan(3)
    well()
  })

  it('comes whole over a line that crawls', async () => {
    const wanted = await expected()
    proxy.behave(() => ({ kind: 'slow', bytesPerSecond: 40_000 }))
    await using sandbox = await client.Sandbox.create(through())
    const { out, err } = await heardIn(sandbox)
    expect({ out: sha256(out), err: sha256(err) }).toEqual(wanted)
    well()
  })

  it('is never begun twice: a request whose answer is lost is told as such', async () => {
    well()
    await using sandbox = await straight().sandboxes.create()
    const remote = await client.Sandbox.connect({ ...through(), id: sandbox.id })
    for (const afterBytes of [1, 40, 200]) {
      await misbehaving(1, () => ({ kind: 'reset', afterBytes }))
      await expect(remote.commands.run('echo once >> times')).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' })
      well()
    }
    await expect.poll(async () => (await sandbox.files.read('times')).split('\n').length - 1).toBe(3)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await sandbox.files.read('times')).toBe('once\nonce\nonce\n')
  })

  it('that can be followed no more is lost, with what was heard of it', async () => {
    well()
    await using sandbox = await straight().sandboxes.create()
    const retry = { retries: 1, reconnects: 2, firstMs: 5, longestMs: 20 }
    const remote = await client.Sandbox.connect({ ...through(), retry, id: sandbox.id })
    await misbehaving(1, () => ({ kind: 'reset', afterBytes: 1400 }))
    const running = remote.commands.run('echo heard; sleep 2; echo unheard', {
      onStdout: () => proxy.behave(() => ({ kind: 'refuse' })),
    })
    const result = await running
    expect(result).toMatchObject({ ended: { by: 'lost' }, exitCode: 125, stdout: 'heard\n' })
    well()
  })
})

describe('the stream of an exec', () => {
  const request = { project_id: 'streamed', exec: { kind: 'shell', command: script } } as const

  async function heardOf(glovebox: Glovebox, execId: string, after?: string) {
    const out: Uint8Array[] = []
    const err: Uint8Array[] = []
    const ids: string[] = []
    const states: string[] = []
    for await (const event of glovebox.execs.stream(execId, after === undefined ? {} : { after })) {
      ids.push(event.id)
      if (event.type === 'stdout') out.push(event.chunk)
      else if (event.type === 'stderr') err.push(event.chunk)
      else if (event.type === 'end') states.push(event.exec.status)
      else states.push(event.status)
    }
    return { out, err, ids, states }
  }

  it.each(disturbances)('comes whole over connections that are %s, while the exec runs', async (_, mischief) => {
    const wanted = await expected()
    const glovebox = client.connect(through())
    well()
    const { exec_id } = await glovebox.execs.create(request)
    await misbehaving(8, mischief)
    const { out, err, ids, states } = await heardOf(glovebox, exec_id)
    expect({ out: sha256(out), err: sha256(err) }).toEqual(wanted)
    expect(new Set(ids).size).toBe(ids.length)
    expect(states.at(-1)).toBe('FAILED')
    expect(states.filter((state) => state === 'RUNNING')).toHaveLength(1)
    well()
  })

  it('comes whole wherever the connection is cut', async () => {
    const glovebox = straight()
    const { exec_id, status } = await glovebox.execs.run({
      project_id: 'streamed',
      exec: { kind: 'shell', command: "printf 'h\\303\\251llo'; printf '\\377' >&2; exit 1" },
    })
    expect(status).toBe('FAILED')
    const whole = await heardOf(glovebox, exec_id)
    const remote = client.connect(through())
    for (let afterBytes = 1; afterBytes < 2600; afterBytes += 37) {
      await misbehaving(1, () => ({ kind: afterBytes % 2 === 0 ? 'reset' : 'half-close', afterBytes }))
      const cut = await heardOf(remote, exec_id)
      expect([textOf(cut.out), textOf(cut.err), cut.states], `cut after ${afterBytes} bytes`).toEqual([
        textOf(whole.out),
        textOf(whole.err),
        whole.states,
      ])
    }
    well()
  })

  it('goes on behind any event of it, and ends at once behind the last', async () => {
    const glovebox = straight()
    const { exec_id } = await glovebox.execs.run(request)
    const whole = await heardOf(glovebox, exec_id)
    for (const at of [0, 1, Math.floor(whole.ids.length / 2), whole.ids.length - 1]) {
      const rest = await heardOf(glovebox, exec_id, whole.ids[at])
      expect(rest.ids).toEqual(whole.ids.slice(at + 1))
    }
  })

  it('goes on when the server was killed and is started again, to the end that is known', async () => {
    const glovebox = client.connect({
      url: ground.url,
      token: ground.token,
      retry: { retries: 200, reconnects: 200, firstMs: 50, longestMs: 200 },
    })
    const { exec_id } = await glovebox.execs.create({
      project_id: 'streamed',
      exec: { kind: 'shell', command: 'seq 5000; sleep 300' },
    })
    let restarting: Promise<void> | undefined
    const out: Uint8Array[] = []
    const ends: string[] = []
    for await (const event of glovebox.execs.stream(exec_id)) {
      if (event.type === 'stdout') out.push(event.chunk)
      if (textOf(out).endsWith('\n5000\n')) restarting ??= ground.restart({ signal: 'SIGKILL' })
      if (event.type === 'end') ends.push(event.exec.status)
    }
    await restarting
    expect(restarting).toBeDefined()
    expect(textOf(out)).toBe(Array.from({ length: 5000 }, (_, index) => `${index + 1}\n`).join(''))
    expect(ends).toEqual(['LOST'])
  })
})

describe('what must happen once', () => {
  it.each([1, 100, 300])('is one sandbox, though its answer was cut after %i bytes', async (afterBytes) => {
    const project = `once-${afterBytes}`
    await misbehaving(2, () => ({ kind: 'reset', afterBytes }))
    await using sandbox = await client.connect(through()).sandboxes.create({ project })
    expect((await straight().sandboxes.list({ project })).items.map(({ id }) => id)).toEqual([sandbox.id])
    well()
  })

  it('is one exec and one run, though their answers were lost', async () => {
    const glovebox = client.connect(through())
    await misbehaving(2, () => ({ kind: 'reset', afterBytes: 30 }))
    const exec = await glovebox.execs.create({ project_id: 'once', exec: { kind: 'shell', command: 'true' } })
    await misbehaving(2, () => ({ kind: 'half-close', afterBytes: 30 }))
    const run = await glovebox.runs.create({ project: 'once', prompt: 'Do it.', command: ['true'] })
    well()
    expect((await straight().execs.list({ project_id: 'once' })).items.map(({ exec_id }) => exec_id)).toEqual([
      exec.exec_id,
    ])
    expect((await straight().runs.list({ project: 'once' })).items.map(({ run_id }) => run_id)).toEqual([run.run_id])
  })
})

describe('a download', () => {
  it('is joined from its parts', async () => {
    const glovebox = straight()
    const { exec_id } = await glovebox.execs.run({
      project_id: 'loaded',
      exec: { kind: 'shell', command: 'seq 200000 > /workspace/artifacts/numbers.txt' },
    })
    const { entries } = await glovebox.execs.artifacts(exec_id)
    const entry = entries.find(({ path }) => path === 'numbers.txt')
    await misbehaving(6, (n) => ({ kind: n % 2 === 0 ? 'reset' : 'half-close', afterBytes: 200_000 }))
    const chunks: Uint8Array[] = []
    for await (const chunk of client.connect(through()).execs.read(exec_id, 'numbers.txt')) chunks.push(chunk)
    expect(sha256(chunks)).toBe(entry?.sha256)
    well()
  })
})

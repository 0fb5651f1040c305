// More than can run at a time, and a server that is asked to stop.
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ExecHealth, ExecRecord } from '../../src/contract/exec-record.ts'
import { refuseFaults, shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { headerOf, judgeHeard } from '../fixtures/server-contract.ts'

const settings = 'sandbox:\n  max_concurrent_execs: 2\n  max_queued_execs: 12\n  max_queued_execs_per_project: 6\n'

/** What runs in a project until it is let go: not the speed of the machine tells how much comes meanwhile. */
const untilGo = 'while [ ! -e go ]; do sleep 0.05; done'
function letGo({ workspace }: ExecServer, project = 'demo'): void {
  const work = join(workspace, 'projects', project, 'work')
  if (!existsSync(work)) throw new Error(`nothing was begun in ${project}`)
  writeFileSync(join(work, 'go'), '')
}

describe('the queue of execs', () => {
  let server: ExecServer
  beforeAll(async () => {
    server = await startExecServer({ settings })
  })
  afterAll(() => server.remove())

  it('is fair across projects', async () => {
    const many = await Promise.all(
      Array.from({ length: 6 }, () => server.begin({ ...shell(untilGo), project_id: 'many' })),
    )
    // Both places are taken before it comes.
    await expect.poll(() => runningOf(server, 'many')).toBe(2)
    const came = await server.begin({ ...shell('true'), project_id: 'few' })
    letGo(server, 'many')
    const few = await server.until(came.exec_id, ({ ended_at }) => ended_at !== null)
    const ends = await Promise.all(
      many.map(({ exec_id }) => server.until(exec_id, ({ ended_at }) => ended_at !== null)),
    )
    const waited = ends.filter(({ started_at }) => (started_at ?? '') > few.created_at)
    const overtook = waited.filter(({ started_at }) => (started_at ?? '') < (few.started_at ?? ''))
    // Both places may become free in the same moment.
    expect(overtook.length).toBeLessThanOrEqual(1)
    // Control: others had come before it and were waiting, so that in the order of arrival it would have been the last.
    expect(waited).toHaveLength(4)
  })

  it('is told to be full with 429 and Retry-After, and others are still served', async () => {
    const running = async (): Promise<unknown> => (await health(server)).execs.running
    // What has ended may have its place for a moment more.
    await expect.poll(running).toBe(0)
    const flood = await Promise.all(
      Array.from({ length: 30 }, () =>
        server.ask('POST', '/sandbox/execs?wait=false', { body: { ...shell(untilGo), project_id: 'flood' } }),
      ),
    )
    const refused = flood.filter(({ status }) => status === 429)
    expect(new Set(flood.map(({ status }) => status))).toEqual(new Set([202, 429]))
    // Two run, and six of a project may wait.
    expect(refused).toHaveLength(22)
    await expect.poll(async () => (await health(server)).execs).toMatchObject({ running: 2, queued: 6, max_queued: 12 })
    const more = async (project: string, count: number): Promise<readonly number[]> => {
      const body = { ...shell('true'), project_id: project }
      const send = () => server.ask('POST', '/sandbox/execs?wait=false', { body })
      const answers = await Promise.all(Array.from({ length: count }, send))
      return answers.map(({ status }) => status).toSorted((one, other) => one - other)
    }
    // Twelve of all; nobody's place is free.
    expect(await more('others', 4)).toEqual([202, 202, 202, 202])
    expect(await more('more', 4)).toEqual([202, 202, 429, 429])
    expect((await health(server)).execs).toMatchObject({ queued: 12 })
    for (const { headers, json } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect((json as { error: { code: string; retryable: boolean } }).error).toMatchObject({
        code: 'TOO_MANY_REQUESTS',
        retryable: true,
      })
    }
    letGo(server, 'flood')
    await expect.poll(async () => (await health(server)).execs.queued).toBe(0)
    const quiet = await server.begin({ ...shell('true'), project_id: 'quiet' })
    await server.until(quiet.exec_id, ({ status }) => status === 'SUCCEEDED')
    for (const { json } of flood.filter(({ status }) => status === 202))
      await server.until((json as ExecRecord).exec_id, ({ status }) => status === 'SUCCEEDED')
    // Control: with room again the same request is taken.
    expect((await server.exec({ ...shell('true'), project_id: 'flood' })).status).toBe('SUCCEEDED')
  })

  it('nothing hangs: each of 60 requests from 6 callers is answered', async () => {
    const call = async (caller: number): Promise<number> => {
      let done = 0
      while (done < 10) {
        const { status } = await server.ask('POST', '/sandbox/execs', {
          body: { ...shell('true'), project_id: `caller-${caller}` },
        })
        if (status === 200) done += 1
        else expect(status).toBe(429)
      }
      return done
    }
    expect(await Promise.all([1, 2, 3, 4, 5, 6].map(call))).toEqual([10, 10, 10, 10, 10, 10])
  })
})

const health = async (server: ExecServer): Promise<ExecHealth> =>
  (await server.ask('GET', '/sandbox/health')).json as ExecHealth

async function runningOf(server: ExecServer, project: string): Promise<number> {
  const { json } = await server.ask('GET', `/sandbox/execs?project_id=${project}&status=RUNNING`)
  return (json as { readonly items: readonly ExecRecord[] }).items.length
}

async function isDraining(server: ExecServer): Promise<void> {
  await expect.poll(async () => (await server.fetch('/readyz')).status).toBe(503)
}

/** One half of the body, of a request that has begun at the server, and the other when it is asked for. */
function beginPost({ url, token, contract }: ExecServer, value: unknown) {
  const body = Buffer.from(JSON.stringify(value))
  const half = Math.floor(body.length / 2)
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': body.length,
    expect: '100-continue',
  }
  const path = '/sandbox/execs?wait=false'
  const sending = request(`${url}${path}`, { method: 'POST', headers })
  sending.write(body.subarray(0, half))
  const answered = (once(sending, 'response') as Promise<[IncomingMessage]>).then(async ([response]) => {
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const [status = 0, text] = [response.statusCode, Buffer.concat(chunks).toString()]
    const heard = { status, text, header: headerOf(response) }
    refuseFaults(judgeHeard(contract, { method: 'POST', path }, heard), text)
    return [status, JSON.parse(text) as unknown]
  })
  return { begun: once(sending, 'continue'), sendRest: () => void sending.end(body.subarray(half)), answered }
}

describe('a server that is asked to stop', () => {
  const servers: ExecServer[] = []
  afterEach(async () => void (await Promise.all(servers.splice(0).map((server) => server.remove()))))
  const start = async (flags: readonly string[], place?: string): Promise<ExecServer> => {
    const server = await startExecServer({ settings, flags, ...(place === undefined ? {} : { place }) })
    servers.push(server)
    return server
  }

  it('lets what runs come to its end, takes nothing new, and leaves the queue to the next', async () => {
    const server = await start(['--grace', '20s'])
    const running = await Promise.all([1, 2].map((one) => server.begin(shell(`${untilGo}; echo ${one}`))))
    const queued = await Promise.all([1, 2, 3].map(() => server.begin(shell('echo later'))))
    const waiting = server.ask('POST', '/sandbox/execs', {
      body: { ...shell('echo later too'), project_id: 'patient' },
    })
    await expect
      .poll(async () => (await server.ask('GET', '/sandbox/execs?project_id=patient')).text)
      .toContain('QUEUED')
    for (const { exec_id } of running) await server.until(exec_id, ({ status }) => status === 'RUNNING')
    const stopping = server.stop()
    await isDraining(server)
    const refused = await server.ask('POST', '/sandbox/execs', { body: shell('true') })
    expect([refused.status, (refused.json as { error: { code: string } }).error.code]).toEqual([503, 'DRAINING'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    letGo(server)
    const { status, json } = await waiting
    expect([status, (json as ExecRecord).status]).toEqual([202, 'QUEUED'])
    expect(await stopping).toBe(0)

    const next = await start([], server.place)
    for (const { exec_id } of running) expect((await next.get(exec_id)).status).toBe('SUCCEEDED')
    for (const { exec_id } of [...queued, json as ExecRecord])
      expect((await next.until(exec_id, ({ ended_at }) => ended_at !== null)).status).toBe('SUCCEEDED')
  })

  it('leaves what waits to the next, with its limits, and it runs under what else that one’s policy says and is recorded so', async () => {
    const server = await start(['--grace', '300ms'])
    const place = server.place
    await Promise.all([1, 2].map(() => server.begin(shell('sleep 600'))))
    const script = 'cat hidden/file; echo no >deploy.sh'
    const queued = await server.begin({ ...shell(script), policy_overrides: { timeout_ms: 50_000 } })
    expect(await server.stop()).toBe(0)
    const work = join(server.workspace, 'projects/demo/work')
    mkdirSync(join(work, 'hidden'))
    writeFileSync(join(work, 'hidden/file'), 'secret\n', { mode: 0o644 })
    const other = 'policy:\n  memoryMb: 512\n  protect: [deploy.sh]\n  denyRead: [/workspace/work/hidden]\n'
    const next = await startExecServer({ place, settings: `${settings}${other}` })
    servers.push(next)
    const exec = await next.until(queued.exec_id, ({ ended_at }) => ended_at !== null)
    expect(existsSync(join(work, 'deploy.sh'))).toBe(false)
    expect(readFileSync(join(next.workspace, exec.stdout_path), 'utf8')).not.toContain('secret')
    const before = queued.policy_snapshot
    expect([before.deny_read, before.protect.includes('deploy.sh')]).toEqual([[], false])
    const inForce = { ...before, deny_read: ['/workspace/work/hidden'], protect: expect.arrayContaining(['deploy.sh']) }
    expect(exec.policy_snapshot).toEqual(inForce)
    const meta: unknown = JSON.parse(readFileSync(join(next.workspace, exec.artifacts_dir, 'meta.json'), 'utf8'))
    expect(meta).toMatchObject({ status: exec.status, policy_snapshot: exec.policy_snapshot })
    expect(exec.policy_snapshot.timeout_ms).toBe(50_000)
  })

  it('refuses a request whose body comes when it already stops', async () => {
    const server = await start(['--grace', '60s'])
    const running = await server.begin(shell(untilGo))
    await server.until(running.exec_id, ({ status }) => status === 'RUNNING')
    const { begun, sendRest, answered } = beginPost(server, {
      ...shell('true'),
      exec: { ...shell('true').exec, env: { A: 'b' } },
    })
    await begun
    // Answered behind it: it was let in.
    expect((await server.ask('GET', '/sandbox/execs')).status).toBe(200)
    const stopping = server.stop()
    await isDraining(server)
    sendRest()
    expect(await answered).toMatchObject([503, { error: { code: 'DRAINING' } }])
    letGo(server)
    expect(await stopping).toBe(0)
    const next = await start([], server.place)
    const { items } = (await next.ask('GET', '/sandbox/execs')).json as { readonly items: readonly ExecRecord[] }
    expect(items.map(({ exec_id, status }) => [exec_id, status])).toEqual([[running.exec_id, 'SUCCEEDED']])
  })

  it('ends what is not over within the grace, and says why', async () => {
    const server = await start(['--grace', '300ms'])
    const exec = await server.begin(shell('echo begun; sleep 60'))
    await server.until(exec.exec_id, ({ status }) => status === 'RUNNING')
    const begun = performance.now()
    expect(await server.stop()).toBe(0)
    expect(performance.now() - begun).toBeLessThan(40_000)
    const next = await start([], server.place)
    expect(await next.get(exec.exec_id)).toMatchObject({ status: 'CANCELLED', error_reason: 'drained' })
  })

  it('that is killed while it waits loses what ran, and nothing else', async () => {
    const server = await start(['--grace', '60s'])
    const running = await Promise.all([1, 2].map(() => server.begin(shell('echo begun; sleep 60'))))
    const queued = await server.begin(shell('echo later'))
    // One that was taken and not yet begun is begun again by the next.
    for (const { stdout_path } of running)
      await expect.poll(() => readFileSync(join(server.workspace, stdout_path), 'utf8')).toBe('begun\n')
    void server.stop()
    await isDraining(server)
    await server.kill()
    const next = await start([], server.place)
    const ended = ({ ended_at }: ExecRecord): boolean => ended_at !== null
    for (const { exec_id } of running)
      expect(await next.until(exec_id, ended)).toMatchObject({ status: 'LOST', error_reason: 'server_crash' })
    expect(await next.until(queued.exec_id, ended)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('asked twice, it does not wait', async () => {
    // Either of them would outlast this test.
    const server = await start(['--grace', '1h'])
    const exec = await server.begin({ ...shell('sleep 3600'), policy_overrides: { timeout_ms: 300_000 } })
    await server.until(exec.exec_id, ({ status }) => status === 'RUNNING')
    const stopped = server.stop()
    await isDraining(server)
    server.child.kill('SIGTERM')
    expect(await stopped).toBe(0)
    const next = await start([], server.place)
    expect(await next.get(exec.exec_id)).toMatchObject({ status: 'CANCELLED', error_reason: 'drained' })
  })
})

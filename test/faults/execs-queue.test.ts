// More than can run at a time, and a server that is asked to stop.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

const settings = 'sandbox:\n  max_concurrent_execs: 2\n  max_queued_execs: 12\n  max_queued_execs_per_project: 6\n'

describe('the queue of execs', () => {
  let server: ExecServer
  beforeAll(async () => {
    server = await startExecServer({ settings })
  })
  afterAll(() => server.remove())

  it('is fair across projects', async () => {
    const many = await Promise.all(
      Array.from({ length: 6 }, () => server.begin({ ...shell('sleep 1'), project_id: 'many' })),
    )
    const few = await server.exec({ ...shell('true'), project_id: 'few' })
    const ends = await Promise.all(
      many.map(({ exec_id }) => server.until(exec_id, ({ ended_at }) => ended_at !== null)),
    )
    const waited = ends.filter(({ started_at }) => (started_at ?? '') > few.created_at)
    const overtook = waited.filter(({ started_at }) => (started_at ?? '') < (few.started_at ?? ''))
    // One may have been taken from the queue in the moment in which it came.
    expect(overtook.length).toBeLessThanOrEqual(1)
    // Control: others had come before it and were waiting, so that in the order of arrival it would have been the last.
    expect(waited.length).toBeGreaterThanOrEqual(3)
  })

  it('is told to be full with 429 and Retry-After, and others are still served', async () => {
    const flood = await Promise.all(
      Array.from({ length: 30 }, () =>
        server.ask('POST', '/sandbox/execs?wait=false', { body: { ...shell('sleep 1'), project_id: 'flood' } }),
      ),
    )
    const refused = flood.filter(({ status }) => status === 429)
    expect(new Set(flood.map(({ status }) => status))).toEqual(new Set([202, 429]))
    expect(refused.length).toBeGreaterThanOrEqual(20)
    for (const { headers, json } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect((json as { error: { code: string; retryable: boolean } }).error).toMatchObject({
        code: 'TOO_MANY_REQUESTS',
        retryable: true,
      })
    }
    expect((await server.exec({ ...shell('true'), project_id: 'quiet' })).status).toBe('SUCCEEDED')
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

async function isDraining(server: ExecServer): Promise<void> {
  await expect.poll(async () => (await server.fetch('/readyz')).status).toBe(503)
}

describe('a server that is asked to stop', () => {
  const servers: ExecServer[] = []
  afterEach(() => servers.splice(0).forEach((server) => server.remove()))
  const start = async (flags: readonly string[], place?: string): Promise<ExecServer> => {
    const server = await startExecServer({ settings, flags, ...(place === undefined ? {} : { place }) })
    servers.push(server)
    return server
  }

  it('lets what runs come to its end, takes nothing new, and leaves the queue to the next', async () => {
    const server = await start(['--grace', '20s'])
    const running = await Promise.all([1, 2].map((one) => server.begin(shell(`sleep 3; echo ${one}`))))
    const queued = await Promise.all([1, 2, 3].map(() => server.begin(shell('echo later'))))
    const waiting = server.ask('POST', '/sandbox/execs', { body: shell('echo later too') })
    for (const { exec_id } of running) await server.until(exec_id, ({ status }) => status === 'RUNNING')
    const stopping = server.stop()
    await isDraining(server)
    const refused = await server.ask('POST', '/sandbox/execs', { body: shell('true') })
    expect([refused.status, (refused.json as { error: { code: string } }).error.code]).toEqual([503, 'DRAINING'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    const { status, json } = await waiting
    expect([status, (json as ExecRecord).status]).toEqual([202, 'QUEUED'])
    expect(await stopping).toBe(0)

    const next = await start([], server.place)
    for (const { exec_id } of running) expect((await next.get(exec_id)).status).toBe('SUCCEEDED')
    for (const { exec_id } of [...queued, json as ExecRecord])
      expect((await next.until(exec_id, ({ ended_at }) => ended_at !== null)).status).toBe('SUCCEEDED')
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
    for (const { exec_id } of running) await server.until(exec_id, ({ status }) => status === 'RUNNING')
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
    const server = await start(['--grace', '60s'])
    const exec = await server.begin(shell('sleep 60'))
    await server.until(exec.exec_id, ({ status }) => status === 'RUNNING')
    const stopped = server.stop()
    await isDraining(server)
    const begun = performance.now()
    server.child.kill('SIGTERM')
    expect(await stopped).toBe(0)
    expect(performance.now() - begun).toBeLessThan(40_000)
    const next = await start([], server.place)
    expect(await next.get(exec.exec_id)).toMatchObject({ status: 'CANCELLED', error_reason: 'drained' })
  })
})

// What execs say, when it is much, and when readers are slow or come and go. The full form is the campaign exec-output.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { bytesOf, readEvents, shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { allowedGrowthMiB, flood, isGapless, readInPieces } from './exec-output.ts'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer()
})
afterAll(() => server.remove())

const MiB = 1024 * 1024

describe('the output of an exec', () => {
  it('500 MiB on each output grow the server by no more than 64 MiB, with fifty readers that take nothing or a byte in a second', async () => {
    const flooded = await flood(server, 500 * MiB, 50)
    expect(flooded).toMatchObject({ status: 'FAILED', exitCode: 7, truncated: true, keptBytes: MiB })
    expect(flooded.grewMiB).toBeLessThanOrEqual(allowedGrowthMiB)
  })

  it('a reader that takes nothing does not hold the exec up, and misses nothing', async () => {
    const body = {
      ...shell(`head -c ${8 * MiB} /dev/urandom | base64 -w 76 | head -c ${8 * MiB}`),
      policy_overrides: { max_stdout_bytes: 8 * MiB },
    }
    const exec = await server.begin(body)
    const reader = await server.fetch(`/sandbox/execs/${exec.exec_id}/stream`)
    const ended = await server.until(exec.exec_id, ({ ended_at }) => ended_at !== null)
    expect(ended).toMatchObject({ status: 'SUCCEEDED', stdout_truncated: false })
    const events = await readEvents(reader)
    expect(isGapless(events, 'stdout')).toBe(true)
    expect(bytesOf(events, 'stdout').equals(readFileSync(join(server.workspace, ended.stdout_path)))).toBe(true)
    expect(events.at(-1)).toMatchObject({ event: 'end', data: { exec: ended } })
  })

  it('a reader that comes back with Last-Event-ID gets every byte once', async () => {
    const script =
      'for i in $(seq 1 60); do echo "line $i é€😀"; [ $((i % 5)) = 0 ] && head -c 300 /dev/urandom >&2; sleep 0.02; done'
    const exec = await server.begin(shell(script))
    const readers = [1, 2, 7].map((events) => readInPieces(server, exec.exec_id, events))
    for (const events of await Promise.all(readers)) {
      expect(isGapless(events, 'stdout') && isGapless(events, 'stderr')).toBe(true)
      const ended = await server.get(exec.exec_id)
      expect(bytesOf(events, 'stdout').equals(readFileSync(join(server.workspace, ended.stdout_path)))).toBe(true)
      expect(bytesOf(events, 'stderr').equals(readFileSync(join(server.workspace, ended.stderr_path)))).toBe(true)
      expect(events.filter(({ event }) => event === 'state').map(({ data }) => data['status'])).toEqual([
        'QUEUED',
        'RUNNING',
      ])
      expect(events.filter(({ event }) => event === 'end')).toHaveLength(1)
    }
  })

  it('a reader that goes away leaves the exec alone', async () => {
    const exec = await server.begin(shell('echo first; sleep 0.5; echo last'))
    await readEvents(await server.fetch(`/sandbox/execs/${exec.exec_id}/stream`), (events) =>
      events.some(({ event }) => event === 'stdout'),
    )
    const ended = await server.until(exec.exec_id, ({ ended_at }) => ended_at !== null)
    expect(ended.status).toBe('SUCCEEDED')
    expect(readFileSync(join(server.workspace, ended.stdout_path), 'utf8')).toBe('first\nlast\n')
  })

  it('a caller that waits and goes away leaves the exec alone', async () => {
    const leaving = new AbortController()
    const left = { ...shell('touch begun; while [ ! -e go ]; do sleep 0.05; done; echo done'), project_id: 'left' }
    const waiting = server.fetch('/sandbox/execs', {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'content-type': 'application/json', 'idempotency-key': 'left' },
      body: JSON.stringify(left),
    })
    const outcome = waiting.then(
      () => 'answered',
      () => 'gone',
    )
    const begun = join(server.workspace, 'projects/left/work/begun')
    await expect.poll(() => existsSync(begun)).toBe(true)
    leaving.abort()
    expect(await outcome).toBe('gone')
    writeFileSync(join(begun, '../go'), '')
    const again = await server.exec(left, { 'idempotency-key': 'left' })
    expect(again.status).toBe('SUCCEEDED')
    expect(readFileSync(join(server.workspace, again.stdout_path), 'utf8')).toBe('done\n')
  })

  it('an id that is none of the stream’s is refused', async () => {
    const exec = await server.exec(shell('printf out; printf err >&2'))
    const askedFrom = async (id: string, of = exec): Promise<number> => {
      const headers = { 'last-event-id': id }
      return (await server.ask('GET', `/sandbox/execs/${of.exec_id}/stream`, { headers })).status
    }
    // The last three are beyond what was written.
    for (const id of ['nonsense', '2.4.0', '2.0.4', '3.3.999']) expect([id, await askedFrom(id)]).toEqual([id, 400])
    // Control: the very end is one of them.
    expect(await askedFrom('2.3.3')).toBe(200)
    expect(await askedFrom('3.3.3')).toBe(204)
    const running = await server.begin(shell('while [ ! -e ended ]; do sleep 0.05; done'))
    await server.until(running.exec_id, ({ status }) => status === 'RUNNING')
    for (const id of ['3.0.0', '2.1.0']) expect([id, await askedFrom(id, running)]).toEqual([id, 400])
    writeFileSync(join(server.workspace, 'projects/demo/work/ended'), '')
    await server.until(running.exec_id, ({ status }) => status === 'SUCCEEDED')
  })

  it('tells no state in which the exec never was', async () => {
    const told = async (exec: ExecRecord): Promise<readonly unknown[]> => {
      const events = await readEvents(await server.fetch(`/sandbox/execs/${exec.exec_id}/stream`))
      return events.map(({ event, data }) => (event === 'state' ? data['status'] : event))
    }
    const running = await Promise.all(
      Array.from({ length: 4 }, () => server.begin(shell('while [ ! -e over ]; do sleep 0.05; done'))),
    )
    for (const { exec_id } of running) await server.until(exec_id, ({ status }) => status === 'RUNNING')
    const queued = await server.begin(shell('true'))
    const cancelled = await server.ask('POST', `/sandbox/execs/${queued.exec_id}/cancel`)
    expect(cancelled.json).toMatchObject({ status: 'CANCELLED', started_at: null })
    expect(await told(queued)).toEqual(['QUEUED', 'end'])
    const refused = await server.ask('POST', '/sandbox/execs', {
      body: shell('true', { policy_overrides: { pids: 10 ** 6 } }),
    })
    const { exec_id } = (refused.json as { error: { facts: { exec_id: string } } }).error.facts
    expect(await told(await server.get(exec_id))).toEqual(['end'])
    // Control: of those that ran it is told.
    writeFileSync(join(server.workspace, 'projects/demo/work/over'), '')
    for (const exec of running) expect(await told(exec)).toEqual(['QUEUED', 'RUNNING', 'end'])
  })
})

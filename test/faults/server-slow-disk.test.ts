// A real server on a disk that takes half a second for each sync. What many ask for at the same time shares the syncs, so that all of them
// wait about as long as one would; and whoever asks for nothing that must be kept is answered meanwhile. The delay is put in between
// the server and its kernel.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'
import { hasTracer } from './killed-at-call.ts'

const unless = hasTracer ? '' : ' (not run: strace is not installed)'
const syncMs = 500
const many = 40

interface Slowed {
  readonly syncs: number
  readonly tookMs: number
  readonly slowestLookMs: number
}

describe.skipIf(!hasTracer)(`a server on a slow disk${unless}`, () => {
  let place: string
  let server: ServerGround
  beforeAll(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-slow-disk-')))
    server = await startServer({ place })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(place, { recursive: true, force: true })
  })

  /** Its threads are all there once it has done such work before, and what it starts is not slowed. */
  const slowed = async (work: () => Promise<void>): Promise<Slowed> => {
    const pid = server.server.child.pid ?? 0
    const threads = readdirSync(`/proc/${pid}/task`).flatMap((thread) => ['-p', thread])
    const log = join(place, 'syncs')
    // What all requests write to; files of one exec alone are nobody else's to share.
    const shared = ['audit/segment-000001.jsonl', 'audit/heads.jsonl', 'glovebox.db', 'glovebox.db-wal']
    const paths = shared.flatMap((name) => ['-P', join(server.state, name)])
    const what = [...paths, '-y', '-e', `inject=fdatasync,fsync:delay_exit=${syncMs * 1000}`, '-o', log]
    const tracer = spawn('strace', [...what, ...threads], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    tracer.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await expect.poll(() => said.match(/attached/g)?.length).toBe(threads.length / 2)
    try {
      const begun = performance.now()
      const slowestLookMs = await lookUntil(work())
      const tookMs = performance.now() - begun
      return {
        syncs: (readFileSync(log, 'utf8').match(/^\d+ +f(?:data)?sync\(/gm) ?? []).length,
        tookMs,
        slowestLookMs,
      }
    } finally {
      tracer.kill('SIGINT')
      await once(tracer, 'close')
    }
  }
  const lookUntil = async (work: Promise<void>): Promise<number> => {
    let isOver = false
    let slowest = 0
    const ending = work.finally(() => (isOver = true))
    ending.catch(() => {})
    while (!isOver) {
      const asked = performance.now()
      expect((await server.call('GET', '/healthz')).status).toBe(200)
      slowest = Math.max(slowest, performance.now() - asked)
      await delay(50)
    }
    await ending
    return slowest
  }
  const all = (ask: (index: number) => Promise<Answered>): Promise<readonly Answered[]> =>
    Promise.all(Array.from({ length: many }, (_, index) => ask(index)))

  const expectShared = ({ syncs, tookMs, slowestLookMs }: Slowed, { eachAlone }: { eachAlone: number }): void => {
    expect(syncs).toBeGreaterThan(0)
    expect(syncs).toBeLessThan((many * eachAlone) / 2)
    expect(tookMs).toBeLessThan(many * syncMs)
    expect(slowestLookMs).toBeLessThan((many * syncMs) / 2)
  }

  it(`${many} commands at once share a few syncs, and all of them are run`, async () => {
    const sandbox = `/sandboxes/${String((await server.call('POST', '/sandboxes', { body: {} })).at('id'))}`
    const run = (index: number) => server.call('POST', `${sandbox}/commands`, { body: { command: `echo ${index}` } })
    await all(run)
    const seen = await slowed(async () => {
      const answers = await all(run)
      const told = answers.map(({ status, at }) => [status, at('stdout')])
      expect(told).toEqual(answers.map((_, index) => [200, `${index}\n`]))
    })
    // Its intent.
    expectShared(seen, { eachAlone: 1 })
  })

  it(`${many} execs at once share a few syncs, and all of them are taken and end`, async () => {
    const begin = (key: string) => (index: number) =>
      server.call('POST', '/sandbox/execs?wait=false', {
        body: { project_id: 'demo', exec: { kind: 'shell', command: `echo ${index}` } },
        headers: { 'idempotency-key': `${key}-${index}` },
      })
    const endAll = async (answers: readonly Answered[]): Promise<void> => {
      for (const answer of answers) {
        expect(answer.status).toBe(202)
        const exec = `/sandbox/execs/${String(answer.at('exec_id'))}`
        await expect
          .poll(async () => (await server.call('GET', exec)).at('status'), { timeout: 60_000 })
          .toBe('SUCCEEDED')
      }
    }
    await endAll(await all(begin('quick')))
    let answers: readonly Answered[] = []
    const seen = await slowed(async () => {
      answers = await all(begin('slow'))
    })
    // Its intent and its row.
    expectShared(seen, { eachAlone: 2 })
    await endAll(answers)
  })
})

// The reaper at the very moment at which somebody comes: whoever asks for a sandbox gets one that works, be it that it was there still or
// that it had just been ended. And what was taken away behind the pool's back is made anew.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Provider } from '../../src/contract/provider.ts'
import { openProvider } from '../conformance/built.ts'
import { startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'
import { below } from './below.ts'
import { seeded } from './seeded.ts'

const lanes = 4

/** The moment of the end, which a busy machine moves: sooner if it was missed, later if it had not come. */
function seekMoment(expectedMs: number) {
  let afterMs = expectedMs
  return {
    afterMs: () => Math.max(10, afterMs),
    saw: (hasEnded: boolean) => void (afterMs += hasEnded ? -15 : 15),
  }
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

describe('the reaper never takes one that is being acquired', () => {
  const idleMs = 150
  let place: string
  let provider: Provider
  beforeEach(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-reaper-')))
    vi.stubEnv('GLOVEBOX_STATE_DIR', join(place, 'state'))
    const limits = { replicas: lanes, idleMs, reapEveryMs: 1 }
    provider = await openProvider({ directory: place, backend: 'bwrap', limits })
  })
  afterEach(async () => {
    await provider.shutdown()
    vi.unstubAllEnvs()
    rmSync(place, { recursive: true, force: true })
  })

  it('every acquire at the end of the idle time gives a sandbox whose first command succeeds', async () => {
    const chance = seeded(5)
    const met = { there: 0, ended: 0 }
    const lane = async (thread: number): Promise<void> => {
      const key = { user: 'u', thread: `t${thread}` }
      const moment = seekMoment(idleMs)
      let id = await provider.acquire(key)
      for (const round of range(16)) {
        await delay(moment.afterMs() + chance.between(-8, 8))
        // One that is parked is not to be had so, be it there or not.
        const wasParked = round > 0 && round % 2 === 0
        if (!wasParked) {
          const hasEnded = provider.get(id) === undefined
          met[hasEnded ? 'ended' : 'there'] += 1
          moment.saw(hasEnded)
        }
        id = await provider.acquire(key)
        const answer = await provider.get(id)?.commands.run(`echo ${round} >> log; tail -n 1 log`)
        expect([answer?.exitCode, answer?.stdout]).toEqual([0, `${round}\n`])
        if (round % 2 === 1) await provider.release(id)
      }
    }
    await Promise.all(range(lanes).map(lane))
    // Else the moment was never met.
    expect(met.there).toBeGreaterThan(5)
    expect(met.ended).toBeGreaterThan(5)
  })
})

interface Ground {
  readonly server: ServerGround
  post(path: string, body?: object): Promise<Answered>
}

/** A server for the cases of one group. */
function withServer(settings: string): () => Ground {
  let place: string
  let server: ServerGround
  beforeAll(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-reaper-')))
    const file = join(place, 'settings.yaml')
    writeFileSync(file, `pool:\n  use: bwrap\n  ${settings}\n`, { mode: 0o600 })
    server = await startServer({ place, flags: ['--config', file] })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(place, { recursive: true, force: true })
  })
  return () => ({ server, post: (path, body = {}) => server.call('POST', path, { body }) })
}

describe('a server whose sandboxes are soon idle', () => {
  const idleMs = 200
  const ground = withServer(`idle_timeout: ${idleMs / 1000}`)

  it('a command that comes at the end of the idle time is run, with or without an acquire before it', async () => {
    const chance = seeded(6)
    const { post, server } = ground()
    const met = { there: 0, ended: 0 }
    const lane = async (thread: number): Promise<void> => {
      const acquire = async (): Promise<string> => {
        const answer = await post('/sandboxes', { key: `edge${thread}` })
        expect([200, 201], answer.text).toContain(answer.status)
        return String(answer.at('id'))
      }
      const moment = seekMoment(idleMs)
      let id = await acquire()
      for (const round of range(10)) {
        await delay(moment.afterMs() + chance.between(-10, 30))
        // To look is not to use.
        const hasEnded = (await server.call('GET', `/sandboxes/${id}`)).at('state') === 'resting'
        met[hasEnded ? 'ended' : 'there'] += 1
        moment.saw(hasEnded)
        if (round % 2 === 0) id = await acquire()
        const answer = await post(`/sandboxes/${id}/commands`, { command: `echo ${round} >> log; tail -n 1 log` })
        expect([answer.status, answer.at('stdout')], answer.text).toEqual([200, `${round}\n`])
      }
    }
    await Promise.all(range(lanes).map(lane))
    expect(Number((await server.call('GET', '/pool')).at('ended.idle'))).toBeGreaterThan(3)
    // Else the moment was never met.
    expect(met.there, 'some came in time').toBeGreaterThan(3)
    expect(met.ended).toBeGreaterThan(3)
  })
})

describe('callers who share a sandbox', () => {
  const ground = withServer('warm: 0')

  it('a command is run though others give the sandbox back at any moment', async () => {
    const { post } = ground()
    const id = String((await post('/sandboxes', { key: 'shared' })).at('id'))
    const stop = new AbortController()
    let releases = 0
    const giveBack = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        expect((await post(`/sandboxes/${id}/release`)).status).toBe(200)
        releases += 1
      }
    }
    const use = async (caller: number): Promise<void> => {
      for (const round of range(15)) {
        const answer = await post(`/sandboxes/${id}/commands`, { command: `echo ${caller} ${round}` })
        expect([answer.status, answer.at('stdout')], answer.text).toEqual([200, `${caller} ${round}\n`])
      }
    }
    const using = Promise.all(range(lanes).map(use)).finally(() => stop.abort())
    await Promise.all([using, giveBack()])
    expect(releases).toBeGreaterThan(5)
  })
})

describe('a server whose processes are killed', () => {
  const ground = withServer('warm: 2')

  it('a warm sandbox whose processes were killed behind its back works at the next use, with its files', async () => {
    const { post, server } = ground()
    const id = String((await post('/sandboxes', { key: 'killed' })).at('id'))
    await post(`/sandboxes/${id}/commands`, { command: 'echo kept > note' })
    await post(`/sandboxes/${id}/release`)
    expect((await server.call('GET', `/sandboxes/${id}`)).at('state')).toBe('warm')
    expect(await killBelow(server), 'something ran').toBeGreaterThan(0)
    const again = await post('/sandboxes', { key: 'killed' })
    expect([again.status, again.at('id')]).toEqual([200, id])
    const answer = await post(`/sandboxes/${id}/commands`, { command: 'cat note' })
    expect([answer.status, answer.at('exitCode'), answer.at('stdout')]).toEqual([200, 0, 'kept\n'])
  })

  it('one that was made ahead and killed before anybody had it works for whoever gets it', async () => {
    const { post, server } = ground()
    const ready = async (): Promise<boolean> =>
      (await server.call('GET', '/metrics')).text.includes('glovebox_pool_ready 2')
    await expect.poll(ready).toBe(true)
    expect(await killBelow(server), 'something ran').toBeGreaterThan(0)
    const id = String((await post('/sandboxes')).at('id'))
    const answer = await post(`/sandboxes/${id}/commands`, { command: 'echo works' })
    expect([answer.status, answer.at('exitCode'), answer.at('stdout')]).toEqual([200, 0, 'works\n'])
  })
})

/** Every bwrap that this server has started, and what is inside. Gives how many there were, when all of them are gone. */
async function killBelow({ server }: ServerGround): Promise<number> {
  const killed = below(server.child.pid ?? 0).filter(({ name }) => name === 'bwrap')
  const pids = new Set(killed.flatMap(({ pid }) => [pid, ...below(pid).map((inside) => inside.pid)]))
  for (const { pid } of killed) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended with the one above it.
    }
  }
  // What is inside follows a moment later, and whoever comes in that moment may find it alive.
  const left = (): number => below(server.child.pid ?? 0).filter(({ pid }) => pids.has(pid)).length
  await expect.poll(left).toBe(0)
  return killed.length
}

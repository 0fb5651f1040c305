// Sandboxes that nobody uses give back all but their files, in time, however often they are looked at; those that are used stay. The real
// server, with a short idle time.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type ServerGround } from '../e2e/server-ground.ts'
import { below } from './below.ts'
import { containers, hasDockerImage } from './docker-pool.ts'

/** Long beside what a busy machine may keep anybody waiting for, who uses one all the time. */
const idleMs = 5000
/** For the reaper's pace, and for a machine on which others work too. */
const slackMs = 10_000

interface Ground {
  readonly place: string
  readonly server: ServerGround
  post(path: string, body?: object): ReturnType<ServerGround['call']>
  make(body: object): Promise<string>
  run(sandbox: string, command: string): Promise<unknown>
  stateOf(sandbox: string): Promise<unknown>
  idleEnds(): Promise<number>
}

async function openGround(place: string, backend: string): Promise<Ground> {
  const file = join(place, 'settings.yaml')
  writeFileSync(file, `pool:\n  use: ${backend}\n  idle_timeout: ${idleMs / 1000}\n`, { mode: 0o600 })
  const server = await startServer({ place, flags: ['--config', file] })
  const post: Ground['post'] = (path, body = {}) => server.call('POST', path, { body })
  return {
    place,
    server,
    post,
    make: async (body) => `/sandboxes/${String((await post('/sandboxes', body)).at('id'))}`,
    async run(sandbox, command) {
      const answer = await post(`${sandbox}/commands`, { command })
      if (answer.status !== 200) throw new Error(answer.text)
      return answer.at('stdout')
    },
    stateOf: async (sandbox) => (await server.call('GET', sandbox)).at('state'),
    idleEnds: async () => Number((await server.call('GET', '/pool')).at('ended.idle')),
  }
}

/** All ways to look at a sandbox, and at the server that has it. */
const looks = (sandbox: string): readonly string[] => [
  '/healthz',
  '/readyz',
  '/metrics',
  '/pool',
  '/sandboxes',
  sandbox,
  `${sandbox}/usage`,
  `${sandbox}/shells`,
]

interface Rested {
  readonly ms: number
  /** How often it had been looked at by then. */
  readonly looked: number
}

/** As often as one token may without being told to wait. */
const lookEveryMs = 50

/** Looks at a sandbox all the time until it rests. */
async function untilItRests({ server, stateOf }: Ground, sandbox: string): Promise<Rested> {
  const begun = performance.now()
  const look = async (path: string): Promise<void> => {
    expect((await server.call('GET', path)).status, path).toBe(200)
  }
  let looked = 0
  while ((await stateOf(sandbox)) !== 'resting') {
    if (performance.now() - begun > idleMs + 3 * slackMs) return { ms: Number.POSITIVE_INFINITY, looked }
    await Promise.all(looks(sandbox).map(look))
    looked += 1
    await delay(lookEveryMs)
  }
  return { ms: performance.now() - begun, looked }
}

/** What of the host a sandbox has: processes below the server, or containers. */
const costs: Readonly<Record<string, (ground: Ground) => readonly string[]>> = {
  bwrap: ({ server }) => below(server.server.child.pid ?? 0).flatMap(({ name }) => (name === 'bwrap' ? [name] : [])),
  docker: ({ place }) => containers({ place }),
}

describe.each(['bwrap', 'docker'])('the idle time on %s', (backend) => {
  const isHere = backend === 'bwrap' || hasDockerImage()
  let place: string
  let ground: Ground
  beforeAll(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-idle-')))
    if (isHere) ground = await openGround(place, backend)
  })
  afterAll(async () => {
    if (isHere) await ground.server.stop()
    rmSync(place, { recursive: true, force: true })
  })

  it.skipIf(!isHere)('a probe never extends a life: neither what is in use nor what is parked', async () => {
    const { make, run, post, stateOf, idleEnds } = ground
    const [active, warm, used] = [
      await make({ key: 'active' }),
      await make({ key: 'warm' }),
      await make({ key: 'used' }),
    ]
    for (const sandbox of [active, warm]) await run(sandbox, 'echo kept > /workspace/note')
    await post(`${warm}/release`)
    const endOf = async (): Promise<unknown> => (await ground.server.call('GET', active)).at('expiresAt')
    const end = await endOf()
    const before = await idleEnds()
    const stop = new AbortController()
    const useOn = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        expect(await run(used, 'echo used')).toBe('used\n')
        await delay(idleMs / 5)
      }
    }
    const watch = async (): Promise<void> => {
      try {
        for (const { ms, looked } of await Promise.all([active, warm].map((each) => untilItRests(ground, each)))) {
          expect(ms).toBeLessThan(idleMs + slackMs)
          expect(looked).toBeGreaterThan(1)
        }
        expect(await stateOf(used), 'the control: commands keep it').toBe('active')
        // They are told to rest as soon as their end has begun.
        await expect.poll(idleEnds, { timeout: slackMs }).toBeGreaterThanOrEqual(before + 2)
        expect(await idleEnds(), 'and it was never ended in between').toBe(before + 2)
      } finally {
        stop.abort()
      }
    }
    await Promise.all([watch(), useOn()])
    expect(await endOf(), 'nor is the absolute end moved').toBe(end)
    await expect.poll(() => stateOf(used), { timeout: idleMs + slackMs }).toBe('resting')
    await expect
      .poll(() => costs[backend]?.(ground), { timeout: 3 * slackMs, message: 'only files are left' })
      .toEqual([])
    for (const sandbox of [active, warm]) expect(await run(sandbox, 'cat /workspace/note')).toBe('kept\n')
    expect(costs[backend]?.(ground), 'the control: there is something to see').not.toEqual([])
  })

  it.skipIf(!isHere)('an absolute end comes in its time, however often one looks', async () => {
    const { server, make } = ground
    const sandbox = await make({ lifeMs: 1500 })
    const begun = performance.now()
    let status = 200
    while (status === 200 && performance.now() - begun < 1500 + 2 * slackMs) {
      for (const path of looks(sandbox)) {
        const answer = await server.call('GET', path)
        if (path === sandbox) ({ status } = answer)
      }
      await delay(20)
    }
    expect([status, performance.now() - begun < 1500 + slackMs]).toEqual([404, true])
  })
})

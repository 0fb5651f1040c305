// The time of day is set back, set forth, and set far forth, under a server at work: what has a deadline keeps it, and nothing ends for it.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseEvents } from '../fixtures/server-contract.ts'
import { codeOf, startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'
import { waitForRun } from '../e2e/server-objects.ts'

const hour = 3_600_000
const shim = fileURLToPath(new URL('../fixtures/moved-clock.mjs', import.meta.url))

let place: string
let ground: ServerGround
const setClock = (offsetMs: number): void => writeFileSync(join(place, 'clock'), String(offsetMs))

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-clock-')))
  setClock(0)
  ground = await startServer({
    place,
    env: { NODE_OPTIONS: `--import=${shim}`, GLOVEBOX_TEST_CLOCK: join(place, 'clock') },
  })
})
afterAll(async () => {
  await ground.stop()
  rmSync(place, { recursive: true, force: true })
})

const exec = (command: string, timeout_ms: number): Promise<Answered> =>
  ground.call('POST', '/sandbox/execs', {
    body: { project_id: 'clock', exec: { kind: 'shell', command }, policy_overrides: { timeout_ms } },
  })

describe('a clock that is set while the server is at work', () => {
  it.each([
    ['an hour back', -hour],
    ['an hour forth', hour],
    ['ten years forth', 10 * 365 * 24 * hour],
  ])('%s: deadlines are kept, nothing is taken away, and events stay in their order', async (_, offsetMs) => {
    setClock(0)
    const sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes', { body: { lifeMs: 120_000 } })).at('id'))}`
    const body = { prompt: 'x', command: ['sh', '-c', 'sleep 4; echo done > /deliverables/d'] }
    const run = String((await ground.call('POST', '/runs', { body })).at('run_id'))
    const running = exec('sleep 4; echo over', 60_000)
    const timedOut = exec('sleep 60', 4000)
    await waitForRun(ground, run, 'running')
    setClock(offsetMs)
    expect((await running).at('status')).toBe('SUCCEEDED')
    expect((await timedOut).at('status')).toBe('TIMEOUT')
    expect(Number((await timedOut).at('duration_ms'))).toBeLessThan(40_000)
    expect((await exec('sleep 60', 500)).at('status')).toBe('TIMEOUT')
    await waitForRun(ground, run, 'completed')
    const headers = { accept: 'text/event-stream' }
    const events = parseEvents((await ground.call('GET', `/runs/${run}/events`, { headers })).text)
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((__, index) => index + 1))
    expect(events.at(-1)?.event).toBe('run_ended')
    const said = await ground.call('POST', `${sandbox}/commands`, { body: { command: 'echo here' } })
    expect([said.status, said.status === 200 && said.at('stdout')]).toEqual([200, 'here\n'])
    setClock(0)
    await ground.call('DELETE', sandbox)
  })

  it('a token is judged by the time of day, also one that was just believed', async () => {
    setClock(0)
    const token = await ground.makeToken('read', null, { expires_in_seconds: 1800 })
    expect((await ground.call('GET', '/sandboxes', { token })).status).toBe(200)
    setClock(hour)
    expect(codeOf(await ground.call('GET', '/sandboxes', { token }))).toBe('TOKEN_EXPIRED')
    setClock(-hour)
    expect((await ground.call('GET', '/sandboxes', { token })).status).toBe(200)
  })
})

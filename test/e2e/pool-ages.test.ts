// The age of a sandbox, which nothing moves: it is counted from the making, through renewals, pauses, restarts and changes of owner.
import { mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

const hour = 3_600_000
const day = 24 * hour
const maxAgeMs = 30 * day

let place: string
let ground: ServerGround

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-ages-')))
  ground = await startServer({ place })
})
afterAll(async () => {
  await ground.stop()
  rmSync(place, { recursive: true, force: true })
})

const post = (path: string, body: object = {}): Promise<Answered> => ground.call('POST', path, { body })
const make = async (body: object = {}): Promise<string> => String((await post('/sandboxes', body)).at('id'))
const endOf = async (id: string): Promise<number> =>
  Date.parse(String((await ground.call('GET', `/sandboxes/${id}`)).at('expiresAt')))

/** Another server takes over, and finds that they were made so long ago. When each of them comes to its age. */
async function age(ms: number, ids: readonly string[]): Promise<number> {
  const { token, state } = ground
  await ground.stop()
  const made = Date.now() - ms
  for (const id of ids) {
    const file = join(state, 'sandboxes', id, 'sandbox.json')
    const record = JSON.parse(readFileSync(file, 'utf8')) as object
    writeFileSync(file, JSON.stringify({ ...record, created_at: new Date(made).toISOString() }))
  }
  ground = await startServer({ place, token })
  return made + maxAgeMs
}

describe('a sandbox', () => {
  it('is not renewed beyond its age, by no way there is, and is told until when it may live', async () => {
    const [nameless, keyed, slept] = [await make(), await make({ key: 'old' }), await make()]
    await post(`/sandboxes/${slept}/pause`)
    const oldest = await age(maxAgeMs - hour, [nameless, keyed, slept])
    const until = new Date(oldest).toISOString()
    const tries = [
      await post(`/sandboxes/${nameless}/renew`, { lifeMs: 2 * hour }),
      await post('/sandboxes', { key: 'old', lifeMs: 2 * hour }),
      await post(`/sandboxes/${slept}/renew`, { lifeMs: 2 * hour }),
    ]
    for (const refused of tries) {
      expect([refused.status, codeOf(refused)]).toEqual([403, 'POLICY_ESCALATION'])
      expect(refused.at('error.facts')).toMatchObject({ field: 'lifeMs', limit: 'maxAgeMs', until })
      expect(refused.at('error.message')).toContain(until)
    }
    // Nothing was begun for those who were refused, and what is allowed is done.
    const states = [keyed, slept].map(async (id) => (await ground.call('GET', `/sandboxes/${id}`)).at('state'))
    expect(await Promise.all(states)).toEqual(['resting', 'paused'])
    const renewed = await post(`/sandboxes/${nameless}/renew`, { lifeMs: hour / 2 })
    expect([renewed.status, Date.parse(String(renewed.at('expiresAt'))) < oldest]).toEqual([200, true])
    expect((await post('/sandboxes', { key: 'old', lifeMs: hour / 2 })).at('id')).toBe(keyed)
    // A pause, and the life that begins behind it, last to the end of its age at most.
    for (const move of ['pause', 'resume']) {
      expect((await post(`/sandboxes/${slept}/${move}`)).status).toBe(200)
      expect([move, (await endOf(slept)) <= oldest]).toEqual([move, true])
    }
    await post(`/sandboxes/${keyed}/pause`)
    expect(await endOf(keyed)).toBe(oldest)
  })

  it('ends at its age, whatever its record says of its life', async () => {
    const [awake, paused, young] = [await make({ key: 'awake' }), await make({ atEnd: 'pause' }), await make()]
    await post(`/sandboxes/${paused}/pause`)
    await age(maxAgeMs + hour, [awake, paused])
    for (const id of [awake, paused]) {
      expect((await ground.call('GET', `/sandboxes/${id}`)).status).toBe(404)
      expect((await post(`/sandboxes/${id}/renew`, { lifeMs: 1000 })).status).toBe(404)
      expect((await post(`/sandboxes/${id}/resume`)).status).toBe(404)
    }
    expect((await post(`/sandboxes/${young}/renew`, { lifeMs: hour })).status).toBe(200)
    // The key has another one now, and its age begins.
    expect((await post('/sandboxes', { key: 'awake', lifeMs: 2 * hour })).status).toBe(201)
  })

  it('that is in use ends at the age that the operator has set, with its files', async () => {
    const { token } = ground
    await ground.stop()
    ground = await startServer({ place, token, flags: ['--limit', 'maxAgeMs=3000'] })
    expect(codeOf(await post('/sandboxes', { lifeMs: 3001 }))).toBe('POLICY_ESCALATION')
    const made = await post('/sandboxes', { atEnd: 'pause' })
    const id = String(made.at('id'))
    await post(`/sandboxes/${id}/commands`, { argv: ['sleep', '60'], background: true })
    expect(Date.parse(String(made.at('expiresAt'))) - Date.parse(String(made.at('createdAt')))).toBe(3000)
    await expect.poll(async () => (await ground.call('GET', `/sandboxes/${id}`)).status).toBe(404)
    await expect.poll(() => readdirSync(join(ground.state, 'sandboxes'))).not.toContain(id)
  })
})

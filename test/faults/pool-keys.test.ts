// Two servers on one state home: a key is one sandbox in both, one of them uses it at a time, and what a dead one leaves is there for
// the other.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'

let place: string
let one: ServerGround
let other: ServerGround
// Long enough for what one that was left has to be cleared of, on a busy machine too.
const flags = ['--limit', 'waitMs=2500']

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-servers-')))
  one = await startServer({ place, flags })
  other = await startServer({ place, flags, token: one.token })
})
afterAll(async () => {
  await Promise.allSettled([one.stop(), other.stop()])
  rmSync(place, { recursive: true, force: true })
})

const acquire = async (server: ServerGround, key: string): Promise<Answered> => {
  const answer = await server.call('POST', '/sandboxes', { body: { key } })
  if (answer.status >= 500) throw new Error(`${answer.text}\n${server.log()}`)
  return answer
}
const run = (server: ServerGround, id: unknown, command: string): Promise<Answered> =>
  server.call('POST', `/sandboxes/${String(id)}/commands`, { body: { command } })
const killed = async (server: ServerGround): Promise<void> => {
  server.server.child.kill('SIGKILL')
  await server.server.finished
}

describe('two servers', () => {
  it('reach the same sandbox by the same key, one after the other, and see its files', async () => {
    const made = await acquire(one, 'thread')
    const id = made.at('id')
    await run(one, id, 'echo one >> /workspace/note')
    await one.call('POST', `/sandboxes/${String(id)}/release`)
    const taken = await acquire(other, 'thread')
    expect([taken.status, taken.at('id')]).toEqual([200, id])
    await run(other, id, 'echo other >> /workspace/note')
    await other.call('POST', `/sandboxes/${String(id)}/release`)
    expect((await run(one, id, 'cat /workspace/note')).at('stdout')).toBe('one\nother\n')
  })

  it('never use it at the same time: the second is told to come again', async () => {
    const id = (await acquire(one, 'busy')).at('id')
    const refused = await acquire(other, 'busy')
    expect([refused.status, codeOf(refused)]).toEqual([409, 'BUSY'])
    expect(refused.headers['retry-after']).toBe('1')
    expect(codeOf(await run(other, id, 'true'))).toBe('BUSY')
    expect((await run(one, id, 'echo still mine')).at('stdout')).toBe('still mine\n')
  })

  it('many that ask for a few keys at once, in both, get one sandbox for each', async () => {
    const asked = Array.from({ length: 24 }, (_, index) => ({
      key: `k${index % 3}`,
      server: index % 2 === 0 ? one : other,
    }))
    const answers = await Promise.all(
      asked.map(async ({ key, server }) => ({ key, answer: await acquire(server, key) })),
    )
    const won = answers.filter(({ answer }) => answer.status < 300)
    for (const key of ['k0', 'k1', 'k2'])
      expect(new Set(won.filter((each) => each.key === key).map(({ answer }) => answer.at('id'))).size).toBe(1)
    expect(answers.filter(({ answer }) => answer.status >= 300).every(({ answer }) => codeOf(answer) === 'BUSY')).toBe(
      true,
    )
    expect(won.filter(({ answer }) => answer.status === 201)).toHaveLength(3)
  })

  it('one that is killed leaves its sandboxes to the other at once, with their files and none of their commands', async () => {
    const doomed = await startServer({ place, flags, token: one.token })
    const id = (await acquire(doomed, 'orphan')).at('id')
    await run(doomed, id, 'echo kept > /workspace/note')
    const body = { command: 'while :; do echo x >> /workspace/beats; sleep 0.05; done', background: true }
    await doomed.call('POST', `/sandboxes/${String(id)}/commands`, { body })
    const beats = join(place, 'state', 'sandboxes', String(id), 'workspace', 'beats')
    const count = (): number => statSync(beats, { throwIfNoEntry: false })?.size ?? 0
    await expect.poll(count, { message: 'the control: it ran' }).toBeGreaterThan(0)
    await killed(doomed)
    const taken = await acquire(other, 'orphan')
    expect([taken.status, taken.at('id')]).toEqual([200, id])
    const standsStill = async (): Promise<boolean> => {
      const before = count()
      await new Promise((resolve) => setTimeout(resolve, 1000))
      return count() === before
    }
    await expect.poll(standsStill).toBe(true)
    expect((await run(other, id, 'cat /workspace/note')).at('stdout')).toBe('kept\n')
  })

  it('a sandbox that is deleted in one is gone in the other', async () => {
    const id = String((await acquire(one, 'gone')).at('id'))
    expect((await other.call('GET', `/sandboxes/${id}`)).at('state')).toBe('resting')
    expect((await one.call('DELETE', `/sandboxes/${id}`)).status).toBe(204)
    expect((await other.call('GET', `/sandboxes/${id}`)).status).toBe(404)
    expect(readdirSync(join(one.state, 'sandboxes'))).not.toContain(id)
  })

  it('a key whose id belongs to another key is refused, and nothing of it is shown', async () => {
    const id = String((await acquire(one, 'first')).at('id'))
    await run(one, id, 'echo secret > /workspace/note')
    await one.call('POST', `/sandboxes/${id}/pause`)
    const file = join(place, 'state', 'sandboxes', id, 'sandbox.json')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"first"', '"second"'))
    const refused = await acquire(other, 'first')
    expect([refused.status, codeOf(refused)]).toEqual([409, 'KEY_COLLISION'])
    expect(refused.text).not.toContain('second')
  })

  it('what was half made when a server was killed is made anew by the next, with nothing of it', async () => {
    const doomed = await startServer({ place, flags, token: one.token })
    const id = String((await acquire(doomed, 'half')).at('id'))
    await killed(doomed)
    const directory = join(place, 'state', 'sandboxes', id)
    rmSync(join(directory, 'sandbox.json'))
    mkdirSync(join(directory, 'workspace', 'left'), { recursive: true })
    const made = await acquire(other, 'half')
    expect([made.status, made.at('id')]).toEqual([201, id])
    expect((await run(other, id, 'ls /workspace')).at('stdout')).not.toContain('left')
  })
})

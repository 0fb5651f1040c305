// What else is asked of a sandbox while its files are carried into a snapshot, and of a snapshot while it is deleted.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

const files = 400
const rounds = 8

describe.each(['bwrap', 'local'])('on %s', (backend) => {
  let ground: ServerGround
  beforeAll(async () => {
    ground = await startServer({ flags: ['--backend', backend] })
  })
  afterAll(async () => {
    await ground.stop()
  })

  const sh = async (id: string, command: string): Promise<string> => {
    const answer = await ground.call('POST', `/sandboxes/${id}/commands`, { body: { command } })
    if (answer.status !== 200) throw new Error(answer.text)
    return String(answer.at('stdout'))
  }
  const countIn = async (id: string): Promise<number> => Number(await sh(id, 'ls | grep -c "^f"'))

  it('a sandbox that is asked for by its key while a snapshot is taken of it is the same, and both have all files', async () => {
    const ask = (): Promise<Answered> => ground.call('POST', '/sandboxes', { body: { key: 'mine' } })
    const id = String((await ask()).at('id'))
    await sh(id, `for n in $(seq ${files}); do : > f$n; done`)
    for (let round = 0; round < rounds; round++) {
      const [taken, ...asked] = await Promise.all([
        ground.call('POST', `/sandboxes/${id}/snapshots`, { body: {} }),
        ask(),
        ask(),
      ])
      expect(taken.status).toBe(201)
      expect(asked.map((each) => [each.status, each.at('id')])).toEqual(asked.map(() => [200, id]))
      const made = await ground.call('POST', '/sandboxes', { body: { snapshot: taken.at('id') } })
      expect([await countIn(id), await countIn(String(made.at('id')))]).toEqual([files, files])
      await ground.call('DELETE', `/sandboxes/${String(made.at('id'))}`)
    }
  })

  it('a sandbox that begins with a snapshot which is deleted meanwhile has all files, or is not there', async () => {
    const id = String((await ground.call('POST', '/sandboxes', { body: {} })).at('id'))
    await sh(id, `for n in $(seq ${files}); do : > f$n; done`)
    for (let round = 0; round < rounds; round++) {
      const taken = String((await ground.call('POST', `/sandboxes/${id}/snapshots`, { body: {} })).at('id'))
      const answers = await Promise.all([
        ...[0, 1].map(() => ground.call('POST', '/sandboxes', { body: { snapshot: taken } })),
        ground.call('DELETE', `/snapshots/${taken}`),
        ground.call('DELETE', `/snapshots/${taken}`),
      ])
      for (const made of answers.slice(0, 2))
        if (made.status === 201) expect(await countIn(String(made.at('id')))).toBe(files)
        else expect([made.status, codeOf(made)]).toEqual([404, 'NOT_FOUND'])
      for (const deleted of answers.slice(2)) expect([204, 404]).toContain(deleted.status)
    }
    expect(await countIn(id)).toBe(files)
  })
})

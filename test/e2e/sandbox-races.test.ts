// The files of a sandbox, which one request keeps, another gives to others and a third one takes away: each of them has what it asked for.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let ground: ServerGround

beforeEach(async () => {
  ground = await startServer({ flags: ['--grace', '1s', '--log-level', 'error'] })
})
afterEach(async () => {
  await ground.stop()
})

const post = (path: string, body: object = {}): Promise<Answered> => ground.call('POST', path, { body })
const makeSandbox = async (body: object = {}): Promise<string> => {
  const made = await post('/sandboxes', body)
  if (made.status !== 201) throw new Error(made.text)
  return `/sandboxes/${String(made.at('id'))}`
}
const run = (sandbox: string, command: string): Promise<Answered> => post(`${sandbox}/commands`, { command })
const told = (answer: Answered): string => `${answer.status}${answer.status < 400 ? '' : ` ${String(codeOf(answer))}`}`
const noteOf = async (sandbox: string): Promise<unknown> => {
  const { at } = await run(sandbox, 'cat /workspace/note')
  await ground.call('DELETE', sandbox)
  return at('stdout')
}

describe('a sandbox whose files are wanted by several at once', () => {
  it('has all of them behind snapshots, renewals and pauses, and its snapshots have them too', async () => {
    const sandbox = await makeSandbox()
    for (const round of ['one', 'two', 'three']) {
      expect((await run(sandbox, `echo ${round} > /workspace/${round}`)).status).toBe(200)
      const answers = await Promise.all([
        post(`${sandbox}/snapshots`, { name: round }),
        post(`${sandbox}/renew`, { lifeMs: 600_000 }),
        post(`${sandbox}/snapshots`, { name: round }),
        post(`${sandbox}/pause`),
        post(`${sandbox}/snapshots`, { name: round }),
      ])
      expect(answers.map(told)).toEqual(['201', '200', '201', '200', '201'])
      expect((await run(sandbox, `cat /workspace/${round}`)).at('stdout')).toBe(`${round}\n`)
    }
    const { text } = await ground.call('GET', '/snapshots?name=three')
    for (const { id } of (JSON.parse(text) as { readonly items: readonly { readonly id: string }[] }).items) {
      const { at } = await post('/sandboxes', { snapshot: id })
      const { at: said } = await run(`/sandboxes/${String(at('id'))}`, 'cat /workspace/{one,two,three}')
      expect(said('stdout')).toBe('one\ntwo\nthree\n')
    }
  })
  it.each(['snapshots', 'fork'])(
    'and that is deleted meanwhile leaves what was asked for and nothing else: %s',
    async (kind) => {
      for (let pauseMs = 0; pauseMs < 40; pauseMs += 4) {
        const sandbox = await makeSandbox()
        await run(sandbox, 'echo kept > /workspace/note')
        const taking = post(`${sandbox}/${kind}`)
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
        expect((await ground.call('DELETE', sandbox)).status).toBe(204)
        const taken = await taking
        expect(['201', '404 NOT_FOUND', '410 SANDBOX_GONE']).toContain(told(taken))
        if (taken.status === 201 && kind === 'snapshots') {
          expect(await noteOf(await makeSandbox({ snapshot: taken.at('id') }))).toBe('kept\n')
          await ground.call('DELETE', `/snapshots/${String(taken.at('id'))}`)
        } else if (taken.status === 201) {
          const [fork] = taken.at('items') as readonly { readonly id: string }[]
          expect(await noteOf(`/sandboxes/${String(fork?.id)}`)).toBe('kept\n')
        }
        expect((await ground.call('GET', sandbox)).status).toBe(404)
      }
      expect((await ground.call('GET', '/snapshots')).at('items')).toEqual([])
      const left = (place: string, wanted: string): readonly string[] =>
        readdirSync(join(ground.state, place)).filter((name) => name.startsWith(wanted))
      await expect.poll(() => [left('snapshots', ''), left('sandboxes', 'sbx_')]).toEqual([[], []])
    },
  )
})

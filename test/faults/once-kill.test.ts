// A server that is killed, or fails, at each moment between a request under an Idempotency-Key and its answer. The same request, sent
// to the next server, finds what was begun or begins it: there is one, whatever the moment.
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'
import { waitForRun } from '../e2e/server-objects.ts'

let place: string
let server: ServerGround | undefined
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-once-')))
})
afterEach(async () => {
  await server?.stop()
  server = undefined
  rmSync(place, { recursive: true, force: true })
})

const headers = { 'idempotency-key': 'the-key' }
type Ask = (server: ServerGround) => Promise<Answered>

/** A server that fails at the named place. */
async function startFailing(failpoint: string): Promise<ServerGround> {
  server = await startServer({ place, env: { GLOVEBOX_FAILPOINTS: failpoint } })
  return server
}

/** The first sending gets no answer, since the server is killed there; the next server is asked in the same words. */
async function askedAgain(failing: ServerGround, ask: Ask): Promise<ServerGround> {
  const [sent, { signal }] = await Promise.all([ask(failing).catch(() => 'no answer'), failing.server.finished])
  expect([sent, signal]).toEqual(['no answer', 'SIGKILL'])
  server = await startServer({ place, token: failing.token })
  return server
}

const listed = async ({ call }: ServerGround, path: string): Promise<readonly { readonly id: string }[]> =>
  (await call('GET', path)).at('items') as readonly { readonly id: string }[]

describe('kill -9 between a request for a run and its answer', () => {
  const ask: Ask = ({ call }) =>
    call('POST', '/runs', {
      headers,
      body: { project: 'p', prompt: 'Do it.', command: ['sh', '-c', 'echo ran >> /workspace/ran'] },
    })
  const directories = (): readonly string[] => {
    const parent = join(place, 'data', 'runs', 'p')
    return existsSync(parent) ? readdirSync(parent) : []
  }

  const moments: readonly (readonly [moment: string, failpoint: string, end: string])[] = [
    ['the key is bound', 'once.claimed', 'completed'],
    ['the directory is made, and not yet in its place', 'run.create.beforePublish', 'completed'],
    ['the directory is in its place', 'run.create.afterPublish', 'failed'],
    ['the run has begun, and is not in the index', 'run.index.beforePut', 'failed'],
    ['the run is in the index', 'once.done', 'failed'],
  ]
  for (const [moment, failpoint, end] of moments)
    it(`when ${moment}: the repetition makes one run, or finds it (${failpoint})`, async () => {
      const next = await askedAgain(await startFailing(`${failpoint}=kill`), ask)
      const before = directories().filter((name) => name.startsWith('run_'))
      const answers = [await ask(next), await ask(next)]
      expect(answers.map(({ status }) => status)).toEqual([201, 201])
      const runId = String(answers[0]?.at('run_id'))
      expect(answers[1]?.text).toBe(answers[0]?.text)
      // It was there, or it was not: the control of the moment.
      expect(before).toEqual(end === 'failed' ? [runId] : [])
      await waitForRun(next, runId, end)
      expect(directories()).toEqual([runId])
      expect(await listed(next, '/runs')).toMatchObject([{ run_id: runId }])
    })

  it('a run that could not be put into the index goes on, and is the answer to the repetition', async () => {
    const failing = await startFailing('run.index.beforePut=error:EIO')
    expect((await ask(failing)).status).toBe(500)
    const [runId = ''] = directories()
    const again = await ask(failing)
    expect([again.status, again.at('run_id'), directories()]).toEqual([201, runId, [runId]])
    await waitForRun(failing, runId, 'completed')
    expect(await listed(failing, '/runs')).toMatchObject([{ run_id: runId }])
  })
})

describe('kill -9 between a request for a sandbox and its answer', () => {
  for (const [moment, failpoint, count] of [
    ['the key is bound', 'once.claimed', 0],
    ['the sandbox is made', 'once.done', 1],
  ] as const)
    for (const body of [{}, { key: 'its own' }])
      it(`when ${moment}: the repetition makes one, or finds it (${JSON.stringify(body)})`, async () => {
        const ask: Ask = ({ call }) => call('POST', '/sandboxes', { headers, body })
        const next = await askedAgain(await startFailing(`${failpoint}=kill`), ask)
        const before = (await listed(next, '/sandboxes')).map(({ id }) => id)
        expect(before).toHaveLength(count)
        const answers = [await ask(next), await ask(next)]
        const ids = answers.map((each) => String(each.at('id')))
        // One with a key of its own was there when it was asked for again, and whose it was, nobody can tell.
        const status = 'key' in body && count === 1 ? 200 : 201
        expect(answers.map((each) => each.status)).toEqual([status, status])
        expect(new Set([...before, ...ids]).size).toBe(1)
        expect((await listed(next, '/sandboxes')).map(({ id }) => id)).toEqual([ids[0]])
        const used = await next.call('POST', `/sandboxes/${ids[0]}/commands`, { body: { argv: ['echo', 'usable'] } })
        expect(used.at('stdout')).toBe('usable\n')
      })

  it('when forks are made: the repetition finds all of them', async () => {
    const failing = await startFailing('once.done=kill')
    const origin = String((await failing.call('POST', '/sandboxes', { body: {} })).at('id'))
    const ask: Ask = ({ call }) => call('POST', `/sandboxes/${origin}/fork`, { headers, body: { count: 3 } })
    const next = await askedAgain(failing, ask)
    const before = (await listed(next, '/sandboxes')).map(({ id }) => id)
    expect(before).toHaveLength(4)
    const again = await ask(next)
    const forks = (again.at('items') as readonly { readonly id: string }[]).map(({ id }) => id)
    expect([again.status, new Set([origin, ...forks])]).toEqual([201, new Set(before)])
    expect(await listed(next, '/sandboxes')).toHaveLength(4)
  })

  it('where some of the forks are there: the repetition neither makes nor ends any, and says so', async () => {
    const failing = await startFailing('once.done=kill')
    const origin = String((await failing.call('POST', '/sandboxes', { body: {} })).at('id'))
    const ask: Ask = ({ call }) => call('POST', `/sandboxes/${origin}/fork`, { headers, body: { count: 2 } })
    const next = await askedAgain(failing, ask)
    const lost = (await listed(next, '/sandboxes')).find(({ id }) => id !== origin)
    await next.call('DELETE', `/sandboxes/${lost?.id}`)
    const again = await ask(next)
    expect([again.status, codeOf(again), again.at('error.facts')]).toEqual([409, 'CONFLICT', { there: 1, asked: 2 }])
    expect(await listed(next, '/sandboxes')).toHaveLength(2)
  })

  it('when a snapshot is taken: the repetition finds it', async () => {
    const failing = await startFailing('once.done=kill')
    const origin = String((await failing.call('POST', '/sandboxes', { body: {} })).at('id'))
    const ask: Ask = ({ call }) => call('POST', `/sandboxes/${origin}/snapshots`, { headers, body: {} })
    const next = await askedAgain(failing, ask)
    const [before] = await listed(next, '/snapshots')
    const again = await ask(next)
    expect([again.status, again.at('id')]).toEqual([201, before?.id])
    expect(await listed(next, '/snapshots')).toHaveLength(1)
  })
})

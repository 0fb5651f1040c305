// Inputs of execs over the wire: when they come to their places, and how many a project may have.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

const settings = 'sandbox:\n  max_concurrent_execs: 1\n  max_input_bytes: 1000\n  max_input_files: 3\n'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer({ settings })
})
afterAll(() => server.remove())

const withInput = (project_id: string, path: string, content: string) => ({
  ...shell('cat /workspace/inputs/*'),
  project_id,
  inputs: [{ path, content }],
})
const inputsOf = (project: string): readonly string[] => {
  const place = join(server.workspace, 'projects', project)
  return readdirSync(place).includes('inputs') ? readdirSync(join(place, 'inputs')) : []
}

describe('inputs of execs', () => {
  it('are there for their exec and for those behind it, and come to their places when it begins', async () => {
    const busy = await server.begin({ ...shell('sleep 30'), project_id: 'waits' })
    const waiting = await server.begin(withInput('waits', 'a.txt', 'one\n'))
    expect(inputsOf('waits')).toEqual([])
    await server.ask('POST', `/sandbox/execs/${busy.exec_id}/cancel`)
    await server.until(waiting.exec_id, ({ ended_at }) => ended_at !== null)
    expect(inputsOf('waits')).toEqual(['a.txt'])
    const read = async (id: string): Promise<string> => (await server.ask('GET', `/sandbox/execs/${id}/stdout`)).text
    expect(await read(waiting.exec_id)).toBe('one\n')
    const later = await server.exec(withInput('waits', 'b.txt', 'two\n'))
    expect(await read(later.exec_id)).toBe('one\ntwo\n')
  })

  it('of an exec that is cancelled in the queue come nowhere', async () => {
    const busy = await server.begin({ ...shell('sleep 30'), project_id: 'cancelled' })
    const waiting = await server.begin(withInput('cancelled', 'a.txt', 'one\n'))
    await server.ask('POST', `/sandbox/execs/${waiting.exec_id}/cancel`)
    const ended = await server.until(waiting.exec_id, ({ ended_at }) => ended_at !== null)
    await server.ask('POST', `/sandbox/execs/${busy.exec_id}/cancel`)
    expect([ended.status, inputsOf('cancelled')]).toEqual(['CANCELLED', []])
    expect(readdirSync(join(server.workspace, ended.artifacts_dir)).toSorted()).toEqual([
      'files',
      'manifest.json',
      'meta.json',
      'stderr.txt',
      'stdout.txt',
    ])
  })

  it('are refused where their project has as many as it may, with nothing kept, and other projects have their own', async () => {
    const send = (project: string, path: string, size: number) =>
      server.ask('POST', '/sandbox/execs', { body: withInput(project, path, 'x'.repeat(size)) })
    expect((await send('full', 'a', 900)).status).toBe(200)
    const tooLarge = await send('full', 'b', 101)
    expect([tooLarge.status, tooLarge.json]).toMatchObject([
      429,
      { error: { code: 'QUOTA_EXCEEDED', facts: { fields: ['inputs'] } } },
    ])
    expect(inputsOf('full')).toEqual(['a'])
    for (const path of ['b', 'c']) expect((await send('full', path, 1)).status).toBe(200)
    expect((await send('full', 'd', 1)).status).toBe(429)
    expect((await send('other', 'd', 900)).status).toBe(200)
    expect((await server.ask('GET', '/sandbox/execs?project_id=full')).json).toMatchObject({
      items: [{}, {}, {}],
    })
  })
})

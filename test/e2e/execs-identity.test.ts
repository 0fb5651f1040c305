// Whose exec it is. The matrix over every route is generated elsewhere; here is what only execs have.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

let server: ExecServer
const tokens: Record<string, string> = {}
beforeAll(async () => {
  server = await startExecServer()
  for (const [name, scopes, project] of [
    ['mine', ['read', 'exec'], 'mine'],
    ['theirs', ['read', 'exec'], 'theirs'],
    ['reader', ['read'], 'mine'],
  ] as const) {
    const { json } = await server.ask('POST', '/tokens', { body: { name, scopes, project } })
    tokens[name] = (json as { token: string }).token
  }
})
afterAll(() => server.remove())

const as = (name: string, method: string, path: string, body?: unknown) =>
  server.ask(method, path, { token: tokens[name] ?? '', ...(body === undefined ? {} : { body }) })

describe('execs of projects', () => {
  it('an exec of another project is not found, by any verb', async () => {
    const made = await as('mine', 'POST', '/sandbox/execs', {
      exec: { kind: 'shell', command: 'echo secret > /workspace/artifacts/a' },
    })
    const { exec_id, project_id } = made.json as ExecRecord
    expect([made.status, project_id]).toEqual([200, 'mine'])
    const paths = ['', '/stream', '/artifacts', '/artifacts/a', '/stdout', '/stderr'].map(
      (end) => `/sandbox/execs/${exec_id}${end}`,
    )
    for (const path of paths) {
      const answered = await as('theirs', 'GET', path)
      expect([path, answered.status]).toEqual([path, 404])
      expect(answered.text).not.toContain('secret')
      // Control: its own project finds it.
      expect([path, (await as('mine', 'GET', path)).status]).toEqual([path, 200])
    }
    expect((await as('theirs', 'POST', `/sandbox/execs/${exec_id}/cancel`)).status).toBe(404)
    expect((await as('theirs', 'GET', '/sandbox/execs')).json).toEqual({ items: [], next_cursor: null })
    expect((await as('theirs', 'GET', '/sandbox/execs?project_id=mine')).status).toBe(404)
    const listed = (await as('mine', 'GET', '/sandbox/execs')).json as { items: ExecRecord[] }
    expect(listed.items.map((each) => each.exec_id)).toEqual([exec_id])
  })

  it('a token makes execs in its own project alone, and a reader none at all', async () => {
    expect((await as('theirs', 'POST', '/sandbox/execs', { ...shell('true'), project_id: 'mine' })).status).toBe(404)
    const conversation = await as('theirs', 'POST', '/sandbox/execs', {
      exec: { kind: 'shell', command: 'true' },
      task_ref: { conversation_id: 'mine' },
    })
    expect((conversation.json as ExecRecord).project_id).toBe('theirs')
    expect((await as('reader', 'POST', '/sandbox/execs', shell('true'))).status).toBe(403)
    expect((await as('reader', 'GET', '/sandbox/execs')).status).toBe(200)
  })

  it('a key belongs to its project: another one’s neither repeats nor tells', async () => {
    const send = (name: string, command: string) =>
      server.ask('POST', '/sandbox/execs', {
        token: tokens[name] ?? '',
        headers: { 'idempotency-key': 'same' },
        body: { exec: { kind: 'shell', command } },
      })
    const mine = await send('mine', 'echo one')
    const theirs = await send('theirs', 'echo two')
    expect([mine.status, theirs.status]).toEqual([200, 200])
    expect((mine.json as ExecRecord).exec_id).not.toBe((theirs.json as ExecRecord).exec_id)
  })
})

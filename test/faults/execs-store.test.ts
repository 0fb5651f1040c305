// The database of a server is held by somebody else: what cannot be kept is refused in time, and what was answered is there.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { holdLock } from './store-ground.ts'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer()
})
afterAll(() => server.remove())

const post = (key: string) =>
  server.ask('POST', '/sandbox/execs', {
    body: shell(`echo ran >> ${key}; cat ${key}`),
    headers: { 'idempotency-key': key },
  })

describe('a database that somebody else holds', () => {
  it('is answered for with 503 in time; reading and health go on, and a repeated request makes one exec', async () => {
    const before = await server.exec(shell('echo before'))
    const letGo = holdLock(join(server.place, 'state', 'glovebox.db'))
    try {
      const begun = performance.now()
      const refused = post('one')
      expect((await server.fetch('/healthz')).status).toBe(200)
      expect(await server.get(before.exec_id)).toEqual(before)
      const { status, headers, json } = await refused
      expect([status, (json as { error: { code: string } }).error.code]).toEqual([503, 'STORE_UNAVAILABLE'])
      expect(headers.get('retry-after')).toMatch(/^\d+$/)
      expect(performance.now() - begun).toBeLessThan(20_000)
    } finally {
      letGo()
    }
    const [first, second] = await Promise.all([post('one'), post('one')])
    expect([first.status, second.status]).toEqual([200, 200])
    const exec = first.json as ExecRecord
    expect((second.json as ExecRecord).exec_id).toBe(exec.exec_id)
    expect((await server.ask('GET', `/sandbox/execs/${exec.exec_id}/stdout`)).text).toBe('ran\n')
    const { items } = (await server.ask('GET', '/sandbox/execs')).json as { items: ExecRecord[] }
    expect(items.map(({ exec_id }) => exec_id)).toEqual([exec.exec_id, before.exec_id])
  })
})

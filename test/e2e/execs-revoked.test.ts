// A stream of an exec lasts no longer than the token that it was opened with: whether somebody revokes it or its time ends.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shell, startExecServer, readEvents, type ExecServer, type SeenEvent } from '../fixtures/exec-server.ts'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer({ flags: ['--limit', 'heartbeatMs=200'] })
})
afterAll(() => server.remove())

async function makeToken(more: object = {}): Promise<{ readonly id: string; readonly token: string }> {
  const { status, json } = await server.ask('POST', '/tokens', { body: { name: 'watcher', scopes: ['read'], ...more } })
  if (status !== 201) throw new Error(JSON.stringify(json))
  return json as { id: string; token: string }
}

const follow = (execId: string, token: string): Promise<Response> =>
  server.fetch(`/sandbox/execs/${execId}/stream`, { headers: { authorization: `Bearer ${token}` } })

/** Both say nothing for a while, and all the while. */
const scripts = [
  ['says nothing', 'touch begun; sleep 600'],
  ['says something all the time', 'touch begun; while :; do echo x; sleep 0.01; done'],
] as const

const lastOf = (events: readonly SeenEvent[]): unknown => {
  const last = events.at(-1)
  return [last?.event, (last?.data as { error?: { code: string } } | undefined)?.error?.code]
}

describe.each(scripts)('the stream of an exec that %s', (_what, script) => {
  it('ends when its token is revoked, and the exec goes on', async () => {
    const { exec_id } = await server.begin(shell(script))
    const watcher = await makeToken()
    const response = await follow(exec_id, watcher.token)
    const other = await follow(exec_id, (await makeToken()).token)
    expect([response.status, other.status]).toEqual([200, 200])
    const revoked = await server.ask('DELETE', `/tokens/${watcher.id}`)
    expect(revoked.status).toBe(204)
    expect(lastOf(await readEvents(response))).toEqual(['error', 'TOKEN_REVOKED'])
    expect((await server.get(exec_id)).status).toBe('RUNNING')
    // Nobody comes in again with it; whoever has another token reads on.
    const again = await server.ask('GET', `/sandbox/execs/${exec_id}/stream`, { token: watcher.token })
    expect([again.status, (again.json as { error: { code: string } }).error.code]).toEqual([401, 'UNAUTHENTICATED'])
    await server.ask('POST', `/sandbox/execs/${exec_id}/cancel`)
    expect((await readEvents(other)).at(-1)).toMatchObject({ event: 'end', data: { exec: { status: 'CANCELLED' } } })
  })

  it('ends when the time of its token is over', async () => {
    const { exec_id } = await server.begin(shell(script))
    const { token } = await makeToken({ expires_in_seconds: 3 })
    const response = await follow(exec_id, token)
    expect(response.status).toBe(200)
    expect(lastOf(await readEvents(response))).toEqual(['error', 'TOKEN_REVOKED'])
    const again = await server.ask('GET', `/sandbox/execs/${exec_id}/stream`, { token })
    expect([again.status, (again.json as { error: { code: string } }).error.code]).toEqual([401, 'TOKEN_EXPIRED'])
    expect((await server.get(exec_id)).status).toBe('RUNNING')
    await server.ask('POST', `/sandbox/execs/${exec_id}/cancel`)
  })
})

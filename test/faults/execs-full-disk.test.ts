// The disk of the workspace is full: what ran is ended and recorded, what comes is refused, and reading goes on.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePlace, shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

const codeIn = (value: unknown): string => (value as { error: { code: string } }).error.code

describe.skipIf(process.getuid?.() !== 0)('a workspace without space', () => {
  let server: ExecServer
  beforeAll(async () => {
    const place = makePlace()
    const workspace = join(place, 'data', 'workspace')
    mkdirSync(workspace, { recursive: true, mode: 0o700 })
    // In a mount namespace of its own: nobody else sees it, and it goes with the server.
    const script = 'mount -t tmpfs -o size=12m,mode=700 none "$0" && exec "$@"'
    server = await startExecServer({
      place,
      under: ['unshare', '-m', '--propagation', 'private', 'sh', '-c', script, workspace],
    })
  })
  afterAll(() => server.remove())

  it('a command whose output finds no room ends with disk_full, and its record is whole', async () => {
    const before = await server.exec(shell('echo kept'))
    const filling = 'head -c 100m /dev/zero > fill 2>/dev/null; head -c 900000 /dev/zero; sleep 20; echo never'
    const exec = await server.exec(shell(filling))
    expect(exec).toMatchObject({ status: 'FAILED', error_reason: 'disk_full' })
    expect(await server.get(before.exec_id)).toEqual(before)
    expect((await server.ask('GET', `/sandbox/execs/${before.exec_id}/stdout`)).text).toBe('kept\n')
    const meta = await server.ask('GET', `/sandbox/execs/${exec.exec_id}/artifacts/meta.json`)
    expect(JSON.parse(meta.text)).toMatchObject({ status: 'FAILED', error_reason: 'disk_full' })
  })

  it('a new exec is refused with 507, and the server goes on', async () => {
    const refusals = []
    for (let index = 0; index < 40 && refusals.length === 0; index++) {
      const body = { ...shell('true'), inputs: [{ path: `large-${index}`, content: 'x'.repeat(200_000) }] }
      const answered = await server.ask('POST', '/sandbox/execs', { body })
      if (answered.status !== 200) refusals.push([answered.status, codeIn(answered.json)])
    }
    expect(refusals).toEqual([[507, 'NO_SPACE']])
    // So is one whose refusal by the policy finds no room for its record.
    const beyond = { ...shell('true'), policy_overrides: { timeout_ms: 300_001 } }
    let answered = await server.ask('POST', '/sandbox/execs', { body: beyond })
    for (let index = 0; index < 100 && answered.status === 403; index++)
      answered = await server.ask('POST', '/sandbox/execs', { body: beyond })
    expect([answered.status, codeIn(answered.json)]).toEqual([507, 'NO_SPACE'])
    expect((await server.ask('GET', '/sandbox/execs')).status).toBe(200)
    expect((await server.fetch('/healthz')).status).toBe(200)
    expect(server.child.exitCode).toBe(null)
  })

  it('control: with space again the same exec runs', async () => {
    // As the operator would, who sees the server's own mounts.
    rmSync(join('/proc', String(server.pid), 'root', server.workspace, 'projects/demo/work/fill'))
    expect(
      await server.exec({ ...shell('echo runs'), inputs: [{ path: 'large-1', content: 'x'.repeat(200_000) }] }),
    ).toMatchObject({ status: 'SUCCEEDED' })
  })
})

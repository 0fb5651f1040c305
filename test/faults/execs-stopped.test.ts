// A server that is stopped for so long that another one, which cannot see its process, takes it for dead; and then goes on.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { canStopServers, startStoppedAndWatching, type StoppedAndWatching } from './stopped-server.ts'

const ended = ({ ended_at }: ExecRecord): boolean => ended_at !== null

/** With an environment: only the server that took it can run it. */
const ownShell = (command: string) => ({ project_id: 'demo', exec: { kind: 'shell', command, env: { A: 'b' } } })

describe.skipIf(!canStopServers)('a server that is stopped for longer than others wait', () => {
  let servers: StoppedAndWatching
  beforeAll(async () => {
    servers = await startStoppedAndWatching()
  })
  afterAll(() => servers.remove())

  it('has lost what ran, ends it when it goes on, and serves as before', async () => {
    const { stopped, watching } = servers
    expect(await stopped.exec(ownShell('true'))).toMatchObject({ status: 'SUCCEEDED' })
    const beating = join(watching.workspace, 'projects/demo/work/beating')
    const lost = await stopped.begin(ownShell('while sleep 0.05; do date +%s%N > beating; done'))
    await expect.poll(() => existsSync(beating)).toBe(true)
    servers.signal('SIGSTOP')
    expect(await watching.until(lost.exec_id, ended, 180_000)).toMatchObject({
      status: 'LOST',
      error_reason: 'server_crash',
    })
    servers.signal('SIGCONT')
    // From the first moment on, when it has not yet heard that it was believed dead.
    for (let times = 0; times < 5; times++) {
      expect(await stopped.exec(ownShell(`echo ${times}`))).toMatchObject({ status: 'SUCCEEDED' })
      await delay(2000)
    }
    expect((await stopped.fetch('/readyz', { token: null })).status).toBe(200)
    // Nothing of what it had lost goes on.
    const last = readFileSync(beating, 'utf8')
    await delay(1000)
    expect(readFileSync(beating, 'utf8')).toBe(last)
    expect(await stopped.get(lost.exec_id)).toMatchObject({ status: 'LOST' })
  })
})

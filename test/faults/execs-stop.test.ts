// What those hear who follow an exec, or wait for it, when the server stops; and a server that is told to stop while its database is away.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../src/audit/verify.ts'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { readEvents, shell, startExecServer, type ExecServer, type ServerOptions } from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'

const servers: ExecServer[] = []
const clusters: Cluster[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.remove()))
  for (const cluster of clusters.splice(0)) cluster.remove()
})
const start = async (options: ServerOptions): Promise<ExecServer> => {
  const server = await startExecServer(options)
  servers.push(server)
  return server
}
const drained = { status: 'CANCELLED', error_reason: 'drained' }

describe('the end of an exec that is not over within the grace', () => {
  it('is told to whoever follows it or waits for it', async () => {
    const server = await start({ flags: ['--grace', '1s'] })
    const followed = await server.begin(shell('echo said; sleep 600'))
    const following = readEvents(await server.fetch(`/sandbox/execs/${followed.exec_id}/stream`))
    const waiting = server.ask('POST', '/sandbox/execs', { body: { ...shell('sleep 600'), project_id: 'waiting' } })
    await expect
      .poll(async () => (await server.ask('GET', '/sandbox/execs?project_id=waiting&status=RUNNING')).text)
      .toContain('RUNNING')
    await expect.poll(() => readFileSync(join(server.workspace, followed.stdout_path), 'utf8')).toBe('said\n')
    expect(await server.stop()).toBe(0)
    const events = await following
    expect(events.map(({ event }) => event)).toEqual(['state', 'state', 'stdout', 'end'])
    expect(events.at(-1)?.data).toMatchObject({ exec: { exec_id: followed.exec_id, ...drained } })
    const { status, json } = await waiting
    expect([status, json as ExecRecord]).toMatchObject([200, drained])
  })
})

describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))('a server whose database is away', () => {
  const startOn = async (flags: readonly string[]): Promise<{ server: ExecServer; cluster: Cluster }> => {
    const cluster = startCluster()
    clusters.push(cluster)
    return { cluster, server: await start({ env: { DATABASE_URL: cluster.createDatabase() }, flags }) }
  }

  it('stops as any other, and signs what it has recorded', async () => {
    const { server, cluster } = await startOn([])
    await server.exec(shell('true'))
    cluster.stop()
    expect(await server.stop()).toBe(0)
    const report = verifyAudit(join(server.place, 'state', 'audit'))
    expect(report).toMatchObject({ verdict: 'ok', openIntents: 0 })
    expect(report.signedThrough).toBe(report.last.seq)
  })

  it('told twice, tries no longer to write what ended', async () => {
    const all = await Promise.all([startOn(['--grace', '100ms']), startOn(['--grace', '100ms'])])
    const words = await Promise.all(
      all.map(async ({ server, cluster }) => {
        const exec = await server.begin(shell('echo said; sleep 600'))
        await expect.poll(() => readFileSync(join(server.workspace, exec.stdout_path), 'utf8')).toBe('said\n')
        cluster.stop()
        return `the end of ${exec.exec_id} could not be written`
      }),
    )
    const [patient, hurried] = all.map(({ server }) => server)
    const stopped = Promise.race([patient?.stop().then(() => 'told once'), hurried?.stop().then(() => 'told twice')])
    for (const [index, { server }] of all.entries())
      await expect.poll(server.logs, { timeout: 60_000 }).toContain(`${words[index]}, and is tried again`)
    hurried?.child.kill('SIGTERM')
    expect(await stopped).toBe('told twice')
    expect(hurried?.child.exitCode).toBe(0)
    // Control: the other one has not given up yet.
    expect(patient?.child.exitCode).toBe(null)
    expect(patient?.logs()).not.toContain(`${words[0]}"`)
  })
})

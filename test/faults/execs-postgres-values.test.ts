// A value of an exec's environment is in no row, index, log or dump of a PostgreSQL: its whole data directory is searched, with what is to be
// written there behind a crash, and what an operator would keep of it.
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'
import { filesWith } from '../fixtures/value-search.ts'
import { ended, letGo, textOf, until, untilGo } from './lasting-execs.ts'

/** Where all of the cluster lies, and the programs of its version. */
function placesOf(url: string): { readonly data: string; readonly programs: string; readonly sockets: string } {
  const sockets = new URL(url.replace('@/', '@localhost/')).searchParams.get('host') ?? ''
  const data = join(dirname(sockets), 'data')
  const [pid = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
  return { data, programs: dirname(readlinkSync(`/proc/${pid}/exe`)), sockets }
}

describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))('the PostgreSQL of a server', () => {
  let cluster: Cluster
  let server: ExecServer
  let url: string
  beforeAll(async () => {
    cluster = startCluster()
    url = cluster.createDatabase()
    server = await startExecServer({ env: { DATABASE_URL: url } })
  })
  afterAll(async () => {
    await server.remove()
    cluster.remove()
  })

  it("has no value of an exec's environment, whether the exec runs, waits, has ended or was refused", async () => {
    const { data, programs, sockets } = placesOf(url)
    const canary = `canary-${randomBytes(12).toString('hex')}`
    const env = { TOKEN: canary }
    const command = `printf %s "$TOKEN" | sha256sum; ${untilGo}`
    const body = { project_id: 'demo', exec: { kind: 'shell', command, env }, task_ref: { task_id: 'spoken-task' } }
    const exec = await server.begin(body, { 'idempotency-key': 'with-a-value' })
    // Control: the guest has it.
    const hash = createHash('sha256').update(canary).digest('hex')
    await until(() => textOf(server, exec.stdout_path).startsWith(hash))
    const dumped = (): string =>
      execFileSync(
        join(programs, 'pg_dump'),
        ['-h', sockets, '-U', 'glovebox', new URL(url.replace('@/', '@x/')).pathname.slice(1)],
        {
          cwd: '/',
          encoding: 'utf8',
          maxBuffer: 64 * 1024 * 1024,
        },
      )
    const found = (): readonly unknown[] => [
      filesWith(data, canary),
      dumped().includes(canary),
      filesWith(server.place, canary),
    ]
    const nowhere = [[], false, []]
    expect(found()).toEqual(nowhere)

    const denied = {
      ...shell('true'),
      exec: { kind: 'shell', command: 'true', env },
      policy_overrides: { pids: 10 ** 6 },
    }
    expect((await server.ask('POST', '/sandbox/execs', { body: denied })).status).toBe(403)
    const waiting = await Promise.all(
      Array.from({ length: 4 }, () => server.begin({ ...body, exec: { ...body.exec, command: 'sleep 60' } })),
    )
    for (const { exec_id } of waiting) await server.ask('POST', `/sandbox/execs/${exec_id}/cancel`)
    letGo(server)
    expect(await server.until(exec.exec_id, ended)).toMatchObject({ status: 'SUCCEEDED', env_keys: ['TOKEN'] })
    expect(found()).toEqual(nowhere)
    expect(server.logs()).not.toContain(canary)
    // Control: what is recorded of the same request is found by the same search: its task, and the name of its variable.
    expect(dumped()).toContain('spoken-task')
    expect(dumped()).toContain('TOKEN')
    expect(filesWith(data, 'spoken-task').some((path) => path.startsWith(join(data, 'pg_wal')))).toBe(true)

    await server.stop()
    // By then all of it lies in its tables, too.
    cluster.stop()
    expect(filesWith(data, 'spoken-task').some((path) => path.startsWith(join(data, 'base')))).toBe(true)
    expect([filesWith(data, canary), filesWith(server.place, canary)]).toEqual([[], []])
  })
})

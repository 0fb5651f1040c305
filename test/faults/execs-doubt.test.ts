// The database goes away while the row of an exec is being committed: nobody can tell at first whether the exec is there. The requests carry
// a value of an environment, which is in memory alone: an exec that has lost it cannot run.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { startExecServer, type Answered, type ExecServer } from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'
import { openWire, type Wire } from './postgres-wire.ts'

const inserting = { after: 'insert into "sandbox_execs"', isAway: true } as const
const body = {
  project_id: 'demo',
  exec: { kind: 'shell', command: 'echo "ran with $WORD" >> count; cat count', env: { WORD: 'a-value' } },
}
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))('an exec whose commit is in doubt', () => {
  let cluster: Cluster
  let wire: Wire
  let server: ExecServer
  beforeAll(() => {
    cluster = startCluster()
  })
  afterAll(() => cluster.remove())
  beforeEach(async () => {
    wire = await openWire(cluster.createDatabase())
    server = await startExecServer({ env: { DATABASE_URL: wire.url } })
  })
  afterEach(async () => {
    await server.remove()
    await wire.remove()
  })

  const post = (key?: string): Promise<Answered> =>
    server.ask('POST', '/sandbox/execs', key === undefined ? { body } : { body, headers: { 'idempotency-key': key } })
  const list = async (): Promise<readonly ExecRecord[]> => {
    const { status, json } = await server.ask('GET', '/sandbox/execs')
    return status === 200 ? (json as { readonly items: readonly ExecRecord[] }).items : []
  }
  /** Refused until the server has heard that its database is there again. */
  const postUntilTaken = async (key: string): Promise<ExecRecord> => {
    let answered = await post(key)
    while (answered.status === 503) {
      await pause(100)
      answered = await post(key)
    }
    expect([answered.status, answered.text]).toEqual([200, answered.text])
    return answered.json as ExecRecord
  }
  const directories = (): readonly string[] => readdirSync(join(server.workspace, 'projects/demo/artifacts'))
  const expectRanOnce = async (told: ExecRecord): Promise<void> => {
    const ended = await server.until(told.exec_id, ({ ended_at }) => ended_at !== null)
    expect(ended).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 })
    expect((await list()).map(({ exec_id }) => exec_id)).toEqual([told.exec_id])
    expect(readFileSync(join(server.workspace, 'projects/demo/work/count'), 'utf8')).toBe('ran with a-value\n')
    const place = join(server.workspace, ended.artifacts_dir)
    expect(JSON.parse(readFileSync(join(place, 'meta.json'), 'utf8')) as ExecMeta).toMatchObject(ended)
    await expect.poll(directories, { timeout: 30_000 }).toEqual([told.exec_id])
  }

  it('is accepted when the database is soon there again and has it', async () => {
    wire.cutAtCommit('unanswered', inserting)
    const answered = post('k')
    await expect.poll(() => wire.cuts, { timeout: 30_000 }).toBe(1)
    await pause(1000)
    wire.heal()
    const { status, json } = await answered
    expect([status, json]).toMatchObject([200, { status: 'SUCCEEDED' }])
    await expectRanOnce(json as ExecRecord)
    expect((await postUntilTaken('k')).exec_id).toBe((json as ExecRecord).exec_id)
  })

  it('is told as unknown when the database stays away, and its key stands for the one exec, which runs', async () => {
    wire.cutAtCommit('unanswered', inserting)
    const { status, json } = await post('k')
    expect([status, json]).toMatchObject([503, { error: { code: 'STORE_UNAVAILABLE', facts: { outcome: 'unknown' } } }])
    const [first] = directories()
    wire.heal()
    const repeated = await postUntilTaken('k')
    expect(repeated.exec_id).toBe(first)
    await expectRanOnce(repeated)
  })

  it('runs without being asked for again, and leaves its record, where it is there after all', async () => {
    wire.cutAtCommit('unanswered', inserting)
    expect((await post()).status).toBe(503)
    wire.heal()
    await expect.poll(list, { timeout: 30_000 }).toHaveLength(1)
    const [told] = await list()
    expect(told).toBeDefined()
    if (told !== undefined) await expectRanOnce(told)
  })

  it('leaves nothing where it never came to be, and under its key another one runs', async () => {
    wire.cutAtCommit('unheard', inserting)
    expect((await post('k')).status).toBe(503)
    const [first = ''] = directories()
    wire.heal()
    await expect.poll(directories, { timeout: 30_000 }).toEqual([])
    expect(await list()).toEqual([])
    const taken = await postUntilTaken('k')
    expect(taken.exec_id).not.toBe(first)
    expect(existsSync(join(server.workspace, taken.artifacts_dir))).toBe(true)
    await expectRanOnce(taken)
  })

  it('is run, with its environment, where the answer to its claim was lost', async () => {
    wire.cutAtCommit('unanswered', { after: 'insert into turns', isAway: true })
    const { status, json } = await server.ask('POST', '/sandbox/execs?wait=false', { body })
    expect(status).toBe(202)
    await expect.poll(() => wire.cuts, { timeout: 30_000 }).toBe(1)
    // Nobody has heard of the claim.
    await expect.poll(server.logs, { timeout: 30_000 }).toContain('the queue could not be read')
    wire.heal()
    await expect.poll(async () => (await server.fetch('/readyz')).status, { timeout: 60_000 }).toBe(200)
    await expectRanOnce(json as ExecRecord)
  })
})

// `glovebox reindex` as an operator uses it: the files are there, the database is not.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../../src/contract/store.ts'
import { execPlace } from '../../src/execs/layout.ts'
import { writeMeta } from '../../src/execs/record.ts'
import { openStore } from '../../src/store/open.ts'
import { at, execRow } from '../conformance/store/subject.ts'
import { startCluster, whyNoPostgres } from '../fixtures/postgres.ts'
import { isRequired } from '../conformance/required.ts'
import { startServer } from './server-ground.ts'
import { makeRunGround, recordOf, type RunGround } from './run-ground.ts'

const policy_snapshot = {
  net: { mode: 'none', allow: [] },
  timeout_ms: 60_000,
  max_stdout_bytes: 1,
  max_stderr_bytes: 1,
  max_artifacts_bytes_total: 1,
  memory_mb: 1,
  cpu_cores: 0.5,
  pids: 1,
  file_size_mb: 1,
  tmp_mb: 1,
  secrets: [],
  shm_mb: 1,
  env: [],
  delete: false,
  protect: [],
  deny_read: [],
}

interface Reindexed {
  readonly execs: number
  readonly runs: number
  readonly unreadable: readonly { readonly place: string; readonly why: string }[]
  readonly missing: readonly string[]
  readonly quarantined: string | null
}

describe('glovebox reindex', () => {
  let ground: RunGround
  let data: string
  let workspace: string
  beforeEach(() => {
    ground = makeRunGround()
    data = join(ground.outside, 'data')
    workspace = join(data, 'workspace')
    mkdirSync(join(data, 'runs', 'p1'), { recursive: true })
  })
  afterEach(() => ground.remove())

  const database = (): string => join(ground.outside, 'state', 'glovebox.db')
  const reindex = async (
    env: Readonly<Record<string, string>> = {},
  ): Promise<Reindexed & { readonly code: number | null }> => {
    const { code, stdout, stderr } = await ground.glovebox(['reindex', '--data', data, '--json'], { env })
    expect(stdout, stderr).toMatch(/^\{/)
    return { ...(JSON.parse(stdout) as Reindexed), code }
  }
  const looking = async <T>(url: string, look: (store: Store) => Promise<T>): Promise<T> => {
    const store = await openStore({ url })
    try {
      return await look(store)
    } finally {
      await store.close()
    }
  }
  /** A server that is started and stopped. */
  const servedOnce = async (known?: string): Promise<{ readonly log: string; readonly token: string }> => {
    const { token, stop } = await startServer({
      place: ground.outside,
      ...(known === undefined ? {} : { token: known }),
    })
    return { log: (await stop()).stderr, token }
  }
  const layExec = async (change: Partial<ExecRow> = {}): Promise<ExecRow> => {
    const row = execRow({ status: 'SUCCEEDED', exit_code: 0, policy_snapshot, fence: 1, started_at: at(1), ...change })
    mkdirSync(execPlace(workspace, row), { recursive: true })
    await writeMeta(workspace, row, { sync: true })
    return row
  }
  const layRun = async (project: string | undefined, name: string): Promise<string> => {
    await ground.shell(name, 'true')
    const directory = join(data, 'runs', ...(project === undefined ? [] : [project]), name)
    renameSync(ground.place(name), directory)
    return directory
  }

  it('finds every exec and run again when the database is gone, and twice is once', async () => {
    const execs = [
      await layExec(),
      await layExec({ project_id: 'p2', status: 'TIMEOUT', exit_code: null, created_at: at(5) }),
    ]
    const [served, plain] = [await layRun('p1', 'served'), await layRun(undefined, 'plain')]
    for (let times = 0; times < 2; times++) {
      expect(await reindex()).toEqual({ code: 0, execs: 2, runs: 2, unreadable: [], missing: [], quarantined: null })
      await looking(database(), async (store) => {
        for (const row of execs) expect(await store.execs.find(row.exec_id)).toEqual(row)
        const { rows } = await store.runs.list({}, { limit: 10 })
        expect(new Map(rows.map(({ directory, project_id }) => [directory, project_id]))).toEqual(
          new Map([
            [plain, null],
            [served, 'p1'],
          ]),
        )
        const { run_id, status, state_seq, created_at } = recordOf(served)
        expect(await store.runs.find(run_id)).toMatchObject({ status, state_seq, created_at, project_id: 'p1' })
      })
    }
  })

  it('puts a damaged database aside and says so', async () => {
    const row = await layExec()
    await reindex()
    writeFileSync(database(), 'not a database at all')
    const done = await reindex()
    expect(done).toMatchObject({ code: 0, execs: 1 })
    expect(readFileSync(done.quarantined!, 'utf8')).toBe('not a database at all')
    expect(await looking(database(), (store) => store.execs.find(row.exec_id))).toEqual(row)
  })

  it.each(['list', 'revoke'])(
    'is what a server does with a damaged database, whoever asked for tokens (%s) before it',
    async (verb) => {
      const row = await layExec()
      await reindex()
      writeFileSync(database(), 'not a database at all')
      const asked = await ground.glovebox(['token', verb, ...(verb === 'revoke' ? ['tok_0'] : [])])
      expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('its file is damaged')])
      expect((await servedOnce()).log).toContain('execs and runs were indexed anew')
      expect(await looking(database(), (store) => store.execs.find(row.exec_id))).toEqual(row)
    },
  )

  it('puts a damaged database aside under a server, which says so and writes nothing more into it', async () => {
    const row = await layExec()
    await reindex()
    const server = await startServer({ place: ground.outside })
    const ask = async (method: string, path: string, body?: unknown): Promise<readonly unknown[]> => {
      const answer = await server.call(method, path, body === undefined ? {} : { body })
      return [answer.status, answer.at('error.code')]
    }
    const making = { name: 'n', scopes: ['read'], project: null }
    expect((await ask('POST', '/tokens', making))[0]).toBe(201)
    for (const part of ['', '-wal']) writeFileSync(`${database()}${part}`, 'not a database at all')
    expect(await reindex()).toMatchObject({ code: 0, execs: 1, quarantined: expect.any(String) as string })
    expect((await ask('GET', '/readyz'))[0]).toBe(503)
    expect(await ask('POST', '/tokens', making)).toEqual([503, 'STORE_UNAVAILABLE'])
    await server.stop()
    expect(await looking(database(), (store) => store.execs.find(row.exec_id))).toEqual(row)
    const { token } = await servedOnce()
    expect(token).toMatch(/^gbx_/)
  })

  it('is what a server does when another one put the database aside and came no further', async () => {
    const row = await layExec()
    await reindex()
    writeFileSync(database(), 'not a database at all')
    const other = await openStore({ url: database(), onDamage: 'quarantine' })
    await other.close()
    const { log, token } = await servedOnce()
    expect(log).toContain('execs and runs were indexed anew')
    expect(log).toContain(other.quarantined)
    expect(await looking(database(), (store) => store.execs.find(row.exec_id))).toEqual(row)
    expect((await servedOnce(token)).log).not.toContain('indexed anew')
  })

  it.each(['--data', '--workspace', '--runs'])(
    '%s that does not exist, or is no directory, is refused, and nothing is made',
    async (flag) => {
      const missing = join(ground.outside, 'no', 'such')
      const file = join(ground.outside, 'file')
      writeFileSync(file, '')
      const before = new Set<unknown>(readdirSync(ground.outside, { recursive: true }))
      for (const path of [missing, file]) {
        const done = await ground.glovebox(['reindex', '--data', data, flag, path])
        expect([done.code, done.stdout, done.stderr]).toEqual([
          2,
          '',
          expect.stringContaining(`the directory of ${flag} does not exist\ndetail: ${path}\n`),
        ])
      }
      expect(new Set<unknown>(readdirSync(ground.outside, { recursive: true }))).toEqual(before)
    },
  )

  it('a data directory of the environment that does not exist is refused, and not made', async () => {
    const missing = join(ground.outside, 'missing')
    const done = await ground.glovebox(['reindex'], { env: { GLOVEBOX_DATA_DIR: missing } })
    expect([done.code, done.stderr]).toEqual([2, expect.stringContaining('GLOVEBOX_DATA_DIR does not exist')])
    expect(existsSync(missing)).toBe(false)
  })

  it('tells what it cannot read, leaves it out, and reads the rest', async () => {
    const [good, bad, empty] = [await layExec(), await layExec(), await layExec()]
    writeFileSync(join(execPlace(workspace, bad), 'meta.json'), '{"exec_id":')
    rmSync(join(execPlace(workspace, empty), 'meta.json'))
    const broken = await layRun('p1', 'broken')
    for (const name of ['run.json', 'events.jsonl']) writeFileSync(join(broken, name), 'garbage\n')
    const done = await reindex()
    expect(done).toMatchObject({ code: 1, execs: 1, runs: 0 })
    expect(done.unreadable.map(({ place }) => place).toSorted()).toEqual(
      [execPlace(workspace, bad), execPlace(workspace, empty), broken].toSorted(),
    )
    expect(await looking(database(), (store) => store.execs.find(good.exec_id))).toEqual(good)
  })

  it('a record that the disk does not give is told and left out, and keeps no server from starting', async () => {
    const [good, bad] = [await layExec(), await layExec()]
    const [whole, broken] = [await layRun('p1', 'whole'), await layRun('p1', 'broken')]
    const meta = join(execPlace(workspace, bad), 'meta.json')
    const harmed = [meta, join(broken, 'run.json')]
    for (const path of harmed) {
      rmSync(path)
      // Reading it fails for everybody, as reading a bad block does.
      mkdirSync(path)
    }
    const done = await reindex()
    expect(done).toMatchObject({ code: 1, execs: 1, runs: 1 })
    const why = 'it cannot be read (EISDIR)'
    expect(done.unreadable).toEqual([
      { place: execPlace(workspace, bad), why },
      { place: broken, why },
    ])
    writeFileSync(database(), 'not a database at all')
    const { log } = await servedOnce()
    expect(log).toContain('execs and runs were indexed anew')
    for (const place of [execPlace(workspace, bad), broken]) expect(log).toContain(place)
    await looking(database(), async (store) => {
      expect(await store.execs.find(good.exec_id)).toEqual(good)
      expect(await store.runs.find(recordOf(whole).run_id)).toBeDefined()
    })
  })

  it('a record that lies in another project than it says is left out', async () => {
    const row = await layExec({ project_id: 'p1' })
    const elsewhere = execPlace(workspace, { project_id: 'p2', exec_id: row.exec_id })
    cpSync(execPlace(workspace, row), elsewhere, { recursive: true })
    const done = await reindex()
    expect(done.unreadable).toEqual([{ place: elsewhere, why: 'its meta.json speaks of another project' }])
    expect(await looking(database(), (store) => store.execs.list({}, { limit: 10 }))).toEqual({
      rows: [row],
      next: null,
    })
  })

  it('takes the word of the files over that of the database, and tells what has no files', async () => {
    const directory = await layRun('p1', 'one')
    await reindex()
    const { run_id } = recordOf(directory)
    const row = await layExec({ status: 'FAILED', exit_code: 3 })
    await looking(database(), (store) => store.execs.insert({ ...row, status: 'RUNNING', exit_code: null, owner: 'o' }))
    rmSync(directory, { recursive: true })
    expect(await reindex()).toMatchObject({ code: 0, execs: 1, runs: 0, missing: [run_id] })
    expect(await looking(database(), (store) => store.execs.find(row.exec_id))).toEqual({ ...row, owner: 'o' })
  })

  it.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))(
    'fills the PostgreSQL of DATABASE_URL',
    async () => {
      const cluster = startCluster()
      try {
        const row = await layExec()
        const DATABASE_URL = cluster.createDatabase()
        expect(await reindex({ DATABASE_URL })).toMatchObject({ code: 0, execs: 1 })
        expect(await looking(DATABASE_URL, (store) => store.execs.find(row.exec_id))).toEqual(row)
      } finally {
        cluster.remove()
      }
    },
  )
})

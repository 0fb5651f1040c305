// Rows as each schema had them, column by column: what an earlier version wrote must be there, and mean the same, after every later step. A
// new schema adds what is new in it, a table or the columns of one; a table without a row here is found by the test.
import { expect, it } from 'vitest'
import { openEngine, openStore } from '../../../src/store/open.ts'
import { currentSchema, migrate } from '../../../src/store/migrations/migrate.ts'
import type { Database, Tables } from '../../../src/store/tables.ts'

type Row = Readonly<Record<string, string | number | null>>
type Rows = Partial<Record<keyof Tables, Row>>

const created_at = '2026-01-01T00:00:00.000Z'

const exec: Row = {
  exec_id: `exec_${'0'.repeat(32)}`,
  project_id: 'p1',
  task_id: 'task_1',
  conversation_id: null,
  skill_id: null,
  image: null,
  cmd: 'bash',
  args: '["-lc","exit 3"]',
  cwd: '/workspace',
  env_keys: '["A"]',
  policy_snapshot: '{"pids":20}',
  status: 'FAILED',
  exit_code: 3,
  error_reason: 'exit_nonzero',
  started_at: created_at,
  ended_at: created_at,
  duration_ms: 12,
  artifacts_path: 'projects/p1/artifacts/x',
  stdout_truncated: 1,
  stderr_truncated: 0,
  created_at,
  owner: null,
  fence: 2,
  backend: 'bwrap',
  boundary_id: null,
  cancel_requested_at: null,
}
const token: Row = {
  id: 'tok_1',
  name: 'first',
  hash: 'a'.repeat(64),
  scopes: '["read","exec"]',
  project: 'p1',
  not_before: null,
  expires_at: created_at,
  revoked_at: null,
  created_at,
  created_by: null,
}
const request: Row = {
  project_id: 'p1',
  key: 'k',
  body_sha256: 'b'.repeat(64),
  subject: 'sbx_1',
  answer: '{"status":201}',
  created_at,
}
const run: Row = {
  run_id: `run_${'0'.repeat(32)}`,
  session_id: 'sess_1',
  task_id: 'task_1',
  project_id: 'p1',
  directory: '/runs/one',
  status: 'completed',
  executor: 'command',
  failure_reason: null,
  created_at,
  updated_at: created_at,
  state_seq: 7,
}
const owner: Row = { owner: 'o1', facts: '{}', beat: 5, created_at }
const lease: Row = { id: 'sbx_1', owner: 'o1', token: 4, state: 'held', expires_at: 1_800_000_000_000 }
const turn: Row = { project_id: 'p1', turn: 3 }
const images: Row = { image_id: `sha256:${'c'.repeat(64)}`, image_asked: 'team/tools:1' }

/** What each step made room for. */
const added: readonly Readonly<Record<'sqlite' | 'postgres', Rows>>[] = [
  first(),
  { sqlite: {}, postgres: { leases: lease } },
  { sqlite: { turns: turn }, postgres: { turns: turn } },
  { sqlite: { sandbox_execs: images }, postgres: { sandbox_execs: images } },
]

/** Of each table that a schema has, with the columns that it has there. */
function rowsOf(version: number, kind: 'sqlite' | 'postgres'): readonly [keyof Tables, Row][] {
  const rows = new Map<keyof Tables, Row>()
  for (const step of added.slice(0, version))
    for (const [table, row] of Object.entries(step[kind]) as [keyof Tables, Row][])
      rows.set(table, { ...rows.get(table), ...row })
  return [...rows]
}

function first(): Readonly<Record<'sqlite' | 'postgres', Rows>> {
  const rows: Rows = { sandbox_execs: exec, tokens: token, idempotency: request, runs: run, owners: owner }
  return { sqlite: rows, postgres: rows }
}

interface Carried {
  readonly kind: 'sqlite' | 'postgres'
  newDatabase(): string
}

export function describeCarried({ kind, newDatabase }: Carried): void {
  it('every schema has rows here', () => {
    expect(added).toHaveLength(currentSchema)
  })

  it.each(Array.from({ length: currentSchema }, (_, index) => [index + 1]))(
    'rows of each table of schema %d are in the newest one as they were',
    async (version) => {
      const url = newDatabase()
      const rows = rowsOf(version, kind)
      const { engine: old } = await openEngine({ url })
      await migrate(old, { upTo: version })
      const tables = await old.read((database) => database.introspection.getTables())
      expect(rows.map(([table]) => table).toSorted()).toEqual(
        tables
          .map(({ name }) => name)
          .filter((name) => name !== 'meta')
          .toSorted(),
      )
      await old.write(async (database) => {
        for (const [table, row] of rows) await database.insertInto(table).values(row).execute()
      })
      await old.close()

      const store = await openStore({ url })
      expect(await store.execs.find(String(exec['exec_id']))).toMatchObject({
        exit_code: 3,
        args: ['-lc', 'exit 3'],
        env_keys: ['A'],
        policy_snapshot: { pids: 20 },
        stdout_truncated: true,
        stderr_truncated: false,
      })
      expect(await store.tokens.findByHash('a'.repeat(64))).toMatchObject({ id: 'tok_1', scopes: ['read', 'exec'] })
      expect(await store.runs.find(String(run['run_id']))).toMatchObject({ status: 'completed', state_seq: 7 })
      await store.close()
      const { engine: newest } = await openEngine({ url })
      for (const [table, row] of rows)
        expect([table, await newest.read((database) => allOf(database, table))]).toEqual([
          table,
          [expect.objectContaining(row)],
        ])
      await newest.close()
    },
  )

  it.each([[1], [2], [3]])(
    'an exec of schema %d that had not ended has asked for the image that it has',
    async (version) => {
      const url = newDatabase()
      const { engine: old } = await openEngine({ url })
      await migrate(old, { upTo: version })
      const said = { status: 'RUNNING', image: 'team/tools:1', ended_at: null }
      await old.write((database) =>
        database
          .insertInto('sandbox_execs')
          .values({ ...exec, ...said } as never)
          .execute(),
      )
      await old.close()
      const store = await openStore({ url })
      expect(await store.execs.find(String(exec['exec_id']))).toMatchObject({
        image: 'team/tools:1',
        image_id: null,
        image_asked: 'team/tools:1',
      })
      await store.close()
    },
  )
}

const allOf = (database: Database, table: keyof Tables): Promise<readonly object[]> =>
  database.selectFrom(table).selectAll().execute()

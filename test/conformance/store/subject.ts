// What each part of the suite is given: stores on one new database, as many as it asks for, as several servers would.
import { newExecId } from '../../../src/contract/ids.ts'
import { newRunId } from '../../../src/contract/run.ts'
import { queuedExec } from '../../../src/contract/queued-exec.ts'
import type { ExecRow, Page, PageKey, RunRow, Store, TokenRow } from '../../../src/contract/store.ts'

export interface Subject {
  /** Stores on the same new database. */
  stores(count: number): Promise<readonly Store[]>
  store(): Promise<Store>
}

export const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()

export const execRow = (change: Partial<ExecRow> = {}): ExecRow => ({
  ...queuedExec,
  exec_id: newExecId(),
  project_id: 'p1',
  task_id: null,
  conversation_id: null,
  skill_id: null,
  image: null,
  image_asked: null,
  cmd: 'bash',
  args: ['-lc', 'true'],
  cwd: null,
  env_keys: [],
  policy_snapshot: {},
  artifacts_path: 'workspace/projects/p1/artifacts/x',
  created_at: at(0),
  ...change,
})

export const tokenRow = (id: string, change: Partial<TokenRow> = {}): TokenRow => ({
  id,
  name: `token ${id}`,
  hash: id.padEnd(64, '0'),
  scopes: ['read', 'exec'],
  project: null,
  not_before: null,
  expires_at: null,
  revoked_at: null,
  created_at: at(0),
  created_by: null,
  ...change,
})

export const runRow = (change: Partial<RunRow> = {}): RunRow => ({
  run_id: newRunId(),
  session_id: 'sess_1',
  task_id: 'task_1',
  project_id: null,
  directory: '/runs/one',
  status: 'running',
  executor: null,
  failure_reason: null,
  created_at: at(0),
  updated_at: at(0),
  state_seq: 1,
  ...change,
})

/** All pages, one after the other. */
export async function allPages<Row>(list: (after: PageKey | undefined) => Promise<Page<Row>>): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let after: PageKey | null | undefined; after !== null;) {
    const page = await list(after)
    rows.push(...page.rows)
    after = page.next
  }
  return rows
}

export const request = (key: string, body = 'a') => ({
  project_id: 'p1',
  key,
  body_sha256: body.repeat(64).slice(0, 64),
  created_at: at(0),
})

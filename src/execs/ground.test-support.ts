// A workspace in a temporary directory, with rows as the store has them.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newExecId } from '../contract/ids.ts'
import { queuedExec } from '../contract/queued-exec.ts'
import type { ExecRow } from '../contract/store.ts'
import { resolvePolicy } from '../policy/resolve.ts'
import { artifactsPath, filesPlace, makeExecPlace, makeProject } from './layout.ts'
import { toSnapshot } from './policy-words.ts'

export interface Ground {
  readonly root: string
  readonly outside: string
  /** With its directories made. */
  exec(change?: Partial<ExecRow>): ExecRow
  files(row: ExecRow): string
  remove(): void
}

export function makeGround(): Ground {
  const outside = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-execs-')))
  const root = join(outside, 'workspace')
  mkdirSync(root)
  return {
    root,
    outside,
    exec(change = {}) {
      const row = someRow(change)
      makeProject(root, row.project_id, { guest: undefined, standIns: [] })
      makeExecPlace(root, row, { guest: undefined, standIns: [] })
      return row
    },
    files: (row) => filesPlace(root, row),
    remove: () => rmSync(outside, { recursive: true, force: true }),
  }
}

export function someRow(change: Partial<ExecRow> = {}): ExecRow {
  const name = { project_id: 'project', exec_id: newExecId() }
  return {
    ...queuedExec,
    ...name,
    task_id: null,
    conversation_id: null,
    skill_id: null,
    image: null,
    image_asked: null,
    cmd: 'bash',
    args: ['-lc', 'true'],
    cwd: '/workspace/work',
    env_keys: [],
    policy_snapshot: toSnapshot(resolvePolicy([]).effective),
    artifacts_path: artifactsPath(name),
    created_at: new Date().toISOString(),
    ...change,
  }
}

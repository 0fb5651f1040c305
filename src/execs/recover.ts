// What becomes of an exec whose server has died. What its files say has happened; a command that went on is followed again;
// one that never began begins; and of the rest nobody can know how it ended.
import { statSync } from 'node:fs'
import { hasEnded, type ExecRow, type Store } from '../contract/store.ts'
import type { Boundaries } from './boundaries.ts'
import { finishExec, type FinishParts } from './finish.ts'
import { recordPlace } from './layout.ts'
import { readMeta, sweepTemporaries } from './record.ts'
import type { Work } from './work.ts'

export interface RecoverParts extends FinishParts {
  readonly self: string
  readonly boundaries: Boundaries
  readonly work: Work
  readonly onChange: (execId: string) => void
}

const pageRows = 200

/** Every exec of a server that is dead. */
export async function recoverOwned(parts: RecoverParts, owner: string): Promise<void> {
  for (const row of await openExecs(parts.store, owner)) {
    try {
      await recoverOne(parts, row)
    } catch (error) {
      parts.log(`${row.exec_id} could not be recovered`, error)
    }
  }
}

/**
 * Execs that are ours and that nobody works on: the answer to a claim was lost on its way, or an end could not be written for
 * too long. `working` is asked twice, so that one that is just being claimed is not taken for such a one.
 */
export function openStrays(parts: RecoverParts): () => Promise<void> {
  let suspects: ReadonlySet<string> = new Set()
  return async () => {
    const filter = { owner: parts.self, status: ['RUNNING'] as const }
    const { rows } = await parts.store.execs.list(filter, { limit: 1000 })
    const idle = rows.filter(({ exec_id }) => !parts.work.ids.includes(exec_id))
    for (const row of idle) if (suspects.has(row.exec_id)) await recoverOne(parts, row)
    suspects = new Set(idle.map(({ exec_id }) => exec_id))
  }
}

/** What no open exec names any more. */
export async function sweepBoundaries(store: Store, boundaries: Boundaries): Promise<void> {
  await boundaries.sweep?.(async () => {
    const open = await openExecs(store)
    return new Set(open.flatMap(({ boundary_id }) => (boundary_id === null ? [] : [boundary_id])))
  })
}

/** Owners of open execs: those that are listed nowhere died before they could be, or the index was made anew. */
export async function ownersOfOpen(store: Store): Promise<ReadonlySet<string>> {
  const rows = await openExecs(store)
  return new Set(rows.flatMap(({ owner }) => (owner === null ? [] : [owner])))
}

async function openExecs(store: Store, owner?: string): Promise<readonly ExecRow[]> {
  const found: ExecRow[] = []
  let after: Parameters<Store['execs']['list']>[1]['after']
  for (;;) {
    const filter = { status: ['QUEUED', 'RUNNING'] as const, ...(owner === undefined ? {} : { owner }) }
    const page = await store.execs.list(filter, { limit: pageRows, after })
    found.push(...page.rows)
    if (page.next === null) return found
    after = page.next
  }
}

async function recoverOne(parts: RecoverParts, left: ExecRow): Promise<void> {
  const row = await parts.store.execs.takeOver(left.exec_id, { from: left.owner, to: parts.self })
  // Another server was quicker, or it has ended.
  if (row === undefined) return
  try {
    sweepTemporaries(parts.root, row)
    await decide(parts, row)
  } finally {
    parts.onChange(row.exec_id)
  }
}

async function decide(parts: RecoverParts, row: ExecRow): Promise<void> {
  const { store, boundaries, work } = parts
  const meta = readMeta(parts.root, row)
  if (meta !== undefined && hasEnded(meta.status)) {
    const { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated } = meta
    const change = { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated }
    await store.execs.update(row.exec_id, row.fence, change)
    return
  }
  if (row.status === 'QUEUED' || row.boundary_id === null) return beginAgain(parts, row)
  const timeoutMs = Number(row.policy_snapshot?.['timeout_ms'])
  const found = await boundaries.findAgain?.(row.boundary_id, { timeoutMs })
  if (found !== undefined && found !== 'unbegun') return void work.follow(row, found)
  await boundaries.destroy(row.boundary_id)
  if (found === 'unbegun') return beginAgain(parts, row)
  await finish(parts, row, 'LOST', 'server_crash')
}

/** Nothing of it has run. Its environment was known to the dead server alone. */
async function beginAgain(parts: RecoverParts, row: ExecRow): Promise<void> {
  if (row.cancel_requested_at !== null) return finish(parts, row, 'CANCELLED', 'cancelled')
  if (row.env_keys.length > 0) return finish(parts, row, 'FAILED', 'environment_lost')
  if (row.status === 'QUEUED') return
  await parts.store.execs.update(row.exec_id, row.fence, { status: 'QUEUED', started_at: null, boundary_id: null })
}

async function finish(
  parts: RecoverParts,
  row: ExecRow,
  status: 'LOST' | 'CANCELLED' | 'FAILED',
  error_reason: string,
): Promise<void> {
  const isCut = (name: 'stdout' | 'stderr'): boolean => {
    const size = statSync(recordPlace(parts.root, row, `${name}.txt`), { throwIfNoEntry: false })?.size ?? 0
    return size >= Number(row.policy_snapshot?.[`max_${name}_bytes`])
  }
  await finishExec(parts, row, {
    status,
    error_reason,
    exit_code: null,
    duration_ms: null,
    stdout_truncated: status === 'LOST' && isCut('stdout'),
    stderr_truncated: status === 'LOST' && isCut('stderr'),
  })
}

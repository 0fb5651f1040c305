// What becomes of an exec whose server has died. What its files say has happened; a command that went on is followed again;
// one that never began begins; and of the rest nobody can know how it ended.
import type { ExecRow, OpenExec, Store } from '../contract/store.ts'
import type { Boundaries } from './boundaries.ts'
import { cancelledUnbegun } from './cancel.ts'
import { enterEnd, finishExec, saidEnd, type FinishParts } from './finish.ts'
import { notedEnd } from './known-end.ts'
import { wasCut } from './outputs.ts'
import { putBack } from './put-back.ts'
import { sweepTemporaries } from './record.ts'
import { neverBegins } from './starting.ts'
import { needsUnrecorded } from './unrecorded.ts'
import type { Work } from './work.ts'

export interface RecoverParts extends FinishParts {
  readonly self: string
  readonly boundaries: Boundaries
  readonly work: Work
  readonly onChange: (execId: string) => void
  /** What it cannot run without, and no record has, is here: its request came to us. */
  isKept(execId: string): boolean
  /** Execs that are just being recovered here. */
  readonly inHand: Set<string>
}

const pageRows = 200

/** Every exec of a server that is dead. False where one is still that server's; one that is ours by then is found among the strays. */
export async function recoverOwned(parts: RecoverParts, owner: string): Promise<boolean> {
  let isDone = true
  for (const row of await openExecs(parts.store, owner)) {
    try {
      if (!(await recoverOne(parts, row))) isDone = false
    } catch (error) {
      isDone = false
      parts.log(`${row.exec_id} could not be recovered, and is tried again`, error)
    }
  }
  return isDone
}

/** What no open exec names any more. */
export async function sweepBoundaries(store: Store, boundaries: Boundaries): Promise<void> {
  await boundaries.sweep?.(async () => {
    const open = await openExecs(store)
    return new Set(open.flatMap(({ boundary_id }) => (boundary_id === null ? [] : [boundary_id])))
  })
}

export async function openExecs(store: Store, owner?: string): Promise<readonly OpenExec[]> {
  const found: OpenExec[] = []
  let after: Parameters<Store['execs']['listOpen']>[1]['after']
  for (;;) {
    const page = await store.execs.listOpen({ owner }, { limit: pageRows, after })
    found.push(...page.rows)
    if (page.next === null) return found
    after = page.next
  }
}

/** False: it is at work here, or in hand, and is left alone. Whoever is at it could write nothing with the fence that it has. */
export async function recoverOne(parts: RecoverParts, left: Pick<OpenExec, 'exec_id' | 'owner'>): Promise<boolean> {
  const { exec_id, owner } = left
  if (parts.inHand.has(exec_id) || parts.work.ids.includes(exec_id)) return false
  parts.inHand.add(exec_id)
  try {
    const row = await parts.store.execs.takeOver(exec_id, { from: owner, to: parts.self })
    // Another server was quicker, or it has ended.
    if (row !== undefined) await recoverTaken(parts, row)
    return true
  } finally {
    parts.inHand.delete(exec_id)
  }
}

async function recoverTaken(parts: RecoverParts, row: ExecRow): Promise<void> {
  try {
    sweepTemporaries(parts.root, row)
    await decide(parts, row)
  } finally {
    parts.onChange(row.exec_id)
  }
}

async function decide(parts: RecoverParts, row: ExecRow): Promise<void> {
  const { boundaries, work } = parts
  const said = saidEnd(parts.root, row)
  if (said !== undefined) return void (await enterEnd(parts, row, said))
  // It ended while this process lived, which nothing could be told of then.
  // Or its server knew it, and died while it wrote that down.
  const known = parts.knownEnds.get(row.exec_id) ?? notedEnd(parts.root, row)
  if (known !== undefined) return void (await finishExec(parts, row, known))
  if (row.status === 'QUEUED' || row.boundary_id === null) return beginAgain(parts, row)
  // What it may have made is swept, since no exec names it any more.
  if (neverBegins(parts.root, row, row.boundary_id)) return beginAgain(parts, row)
  const timeoutMs = Number(row.policy_snapshot?.['timeout_ms'])
  const found = await boundaries.findAgain?.(row.boundary_id, { timeoutMs })
  if (found !== undefined && found !== 'unbegun') return void work.follow(row, found)
  await boundaries.destroy(row.boundary_id)
  if (found === 'unbegun') return beginAgain(parts, row)
  await finish(parts, row, 'LOST', 'server_crash')
}

/** Nothing of it has run. Its environment, and where its secrets belong, is known to the server alone that took its request. */
async function beginAgain(parts: RecoverParts, row: ExecRow): Promise<void> {
  if (row.cancel_requested_at !== null) return void (await finishExec(parts, row, cancelledUnbegun(row)))
  if (needsUnrecorded(row) && !parts.isKept(row.exec_id)) return finish(parts, row, 'FAILED', 'environment_lost')
  if (row.status === 'QUEUED') return
  await putBack(parts, row)
}

async function finish(
  parts: RecoverParts,
  row: ExecRow,
  status: 'LOST' | 'FAILED',
  error_reason: string,
): Promise<void> {
  await finishExec(parts, row, {
    status,
    error_reason,
    exit_code: null,
    duration_ms: null,
    stdout_truncated: wasCut(parts.root, row, 'stdout'),
    stderr_truncated: wasCut(parts.root, row, 'stderr'),
  })
}

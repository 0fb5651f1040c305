// What a request leaves in the workspace when it becomes an exec, and when it does not.
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ExecRow } from '../contract/store.ts'
import { syncDirectory } from './finish.ts'
import { execPlace } from './layout.ts'
import { writeFirstMeta } from './record.ts'

/** From here on the files vouch for it. */
export async function writeFirstRecord(
  root: string,
  row: ExecRow,
  { sync }: { readonly sync: boolean },
): Promise<void> {
  await writeFirstMeta(root, row, { sync })
  if (sync) await Promise.all([execPlace(root, row), dirname(execPlace(root, row))].map(syncDirectory))
}

export interface ForgetParts {
  readonly root: string
  /** What was kept for it is let go of. */
  take(execId: string): unknown
}

/** Nothing came of it. */
export async function forget(parts: ForgetParts, row: ExecRow): Promise<void> {
  parts.take(row.exec_id)
  await rm(execPlace(parts.root, row), { recursive: true, force: true })
}

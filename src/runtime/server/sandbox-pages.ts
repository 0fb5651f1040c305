// Which sandboxes a list shows, and in what order.
import type { Page, PageRequest } from '../../contract/store.ts'
import type { MemberRecord } from '../pool/record.ts'
import type { SandboxFilter, SandboxState } from './sandboxes.ts'

export function isWanted(
  record: MemberRecord,
  { project, metadata = {}, states }: SandboxFilter,
  stateOf: (record: MemberRecord) => SandboxState,
): boolean {
  if (project !== undefined && record.project !== project) return false
  if (!Object.entries(metadata).every(([name, value]) => record.metadata[name] === value)) return false
  return states === undefined || states.includes(stateOf(record))
}

/** Newest first, as the store has it. */
export function pageOf(all: readonly MemberRecord[], { limit, after }: PageRequest): Page<MemberRecord> {
  const keyOf = ({ created_at: at, id }: Pick<MemberRecord, 'created_at'> & { readonly id: string }): string =>
    `${at} ${id}`
  const behind = after === undefined ? undefined : keyOf(after)
  const found = all
    .filter((one) => behind === undefined || keyOf(one) < behind)
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1))
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const hasMore = found.length > rows.length && last !== undefined
  return { rows, next: hasMore ? { created_at: last.created_at, id: last.id } : null }
}

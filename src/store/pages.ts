// Pages, newest first, by (created_at, id): the next page goes on from the last row that was seen, not from a count, so
// nothing that comes or goes meanwhile shifts it.
import type { Page, PageKey, PageRequest } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'

const mostRows = 1000

export function refusePageSize({ limit }: PageRequest): void {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= mostRows) return
  throw new GloveboxError('INVALID_INPUT', `Cannot list: the limit must be a whole number from 1 to ${mostRows}`)
}

/** `found` holds one row more than the page where there is another page. */
export function pageOf<Row extends { readonly created_at: string }>(
  found: readonly Row[],
  { limit }: PageRequest,
  idOf: (row: Row) => string,
): Page<Row> {
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const next: PageKey | null =
    found.length > limit && last !== undefined ? { created_at: last.created_at, id: idOf(last) } : null
  return { rows, next }
}

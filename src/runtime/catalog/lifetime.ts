// The life of a sandbox as a line of its budget.
import type { CatalogBudgetLine } from '../../contract/catalog.ts'

/** Both as ISO 8601. */
export interface Life {
  readonly createdAt: string
  readonly expiresAt: string
}

export function lifetimeLine({ createdAt, expiresAt }: Life, now: number = Date.now()): CatalogBudgetLine {
  const [begin, end] = [Date.parse(createdAt), Date.parse(expiresAt)]
  return {
    what: 'lifetime',
    unit: 'ms',
    limit: end - begin,
    used: Math.max(0, now - begin),
    left: Math.max(0, end - now),
    endsAt: expiresAt,
  }
}

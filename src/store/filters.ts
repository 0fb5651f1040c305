// Conditions that both engines read the same way.
import { sql, type ExpressionBuilder } from 'kysely'
import type { Tables } from './tables.ts'

/** PostgreSQL has no list without members; such a one holds nothing. */
export const isOneOf = <Table extends 'sandbox_execs' | 'runs'>(
  eb: ExpressionBuilder<Tables, Table>,
  statuses: readonly string[],
) => (statuses.length === 0 ? eb.lit(false) : sql<boolean>`${eb.ref('status')} in (${sql.join(statuses)})`)

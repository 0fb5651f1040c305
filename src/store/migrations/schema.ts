// What a migration is given. It speaks of tables as they were in its time, never of today's types.
import { sql, type Kysely, type RawBuilder } from 'kysely'

export interface Schema {
  readonly database: Kysely<unknown>
  /** Text that sorts by its bytes on both engines; PostgreSQL would otherwise sort by the customs of some language. */
  readonly text: RawBuilder<unknown>
}

/** A step forward. Which engine it is on matters to few. */
export type Migration = (schema: Schema, kind: 'sqlite' | 'postgres') => Promise<void>

export const textOf = (kind: 'sqlite' | 'postgres'): RawBuilder<unknown> =>
  kind === 'sqlite' ? sql`text` : sql`text collate "C"`

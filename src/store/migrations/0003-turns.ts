// Which project had the queue's last turns. They are counted and not timed: a clock that jumps must not put a project behind all others.
import type { Schema } from './schema.ts'

export async function turns({ database, text }: Schema): Promise<void> {
  await database.schema
    .createTable('turns')
    .addColumn('project_id', text, (column) => column.primaryKey())
    .addColumn('turn', 'bigint', (column) => column.notNull())
    .execute()
  // The last one is asked for with every turn.
  await database.schema.createIndex('turns_by_turn').on('turns').column('turn').execute()
}

// Which image an exec ran in: a name may mean another one by now. What it asked for is kept beside it, for an exec that begins again.
import { sql } from 'kysely'
import type { Schema } from './schema.ts'

export async function images({ database, text }: Schema): Promise<void> {
  for (const column of ['image_id', 'image_asked'])
    await database.schema.alterTable('sandbox_execs').addColumn(column, text).execute()
  // Until now the other column said nothing else.
  await sql`update sandbox_execs set image_asked = image where status in ('QUEUED', 'RUNNING')`.execute(database)
}

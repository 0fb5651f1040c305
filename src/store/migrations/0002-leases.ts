// Leases of sandboxes, for servers that share a PostgreSQL. A SQLite file belongs to one host, whose leases are files, so it has no such
// table. Times are whole milliseconds of the database's clock; tokens come from a sequence, which never goes back.
import { sql } from 'kysely'
import type { Schema } from './schema.ts'

export async function leases({ database, text }: Schema, kind: 'sqlite' | 'postgres'): Promise<void> {
  if (kind === 'sqlite') return
  await sql`create sequence lease_tokens as bigint`.execute(database)
  await database.schema
    .createTable('leases')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('owner', text, (column) => column.notNull())
    .addColumn('token', 'bigint', (column) => column.notNull())
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
}

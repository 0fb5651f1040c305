// The first schema. A migration that was released is never edited: a change is a new file after it.
import { sql, type Kysely } from 'kysely'
import type { Schema } from './schema.ts'

export async function first({ database, text }: Schema): Promise<void> {
  await execs({ database, text })
  await runs({ database, text })
  await database.schema
    .createTable('owners')
    .addColumn('owner', text, (column) => column.primaryKey())
    .addColumn('facts', text, (column) => column.notNull())
    .addColumn('beat', 'bigint', (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .execute()
  await database.schema
    .createTable('tokens')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('scopes', text, (column) => column.notNull())
    .addColumn('project', text)
    .addColumn('not_before', text)
    .addColumn('expires_at', text)
    .addColumn('revoked_at', text)
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('created_by', text)
    .execute()
  await database.schema
    .createTable('idempotency')
    .addColumn('project_id', text, (column) => column.notNull())
    .addColumn('key', text, (column) => column.notNull())
    .addColumn('body_sha256', text, (column) => column.notNull())
    .addColumn('subject', text, (column) => column.notNull())
    .addColumn('answer', text)
    .addColumn('created_at', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_key', ['project_id', 'key'])
    .execute()
  await index(database, 'idempotency', ['created_at'])
}

async function execs({ database, text }: Schema): Promise<void> {
  await database.schema
    .createTable('sandbox_execs')
    .addColumn('exec_id', text, (column) => column.primaryKey())
    .addColumn('project_id', text, (column) => column.notNull())
    .addColumn('task_id', text)
    .addColumn('conversation_id', text)
    .addColumn('skill_id', text)
    .addColumn('image', text)
    .addColumn('cmd', text, (column) => column.notNull())
    .addColumn('args', text, (column) => column.notNull())
    .addColumn('cwd', text)
    .addColumn('env_keys', text, (column) => column.notNull())
    .addColumn('policy_snapshot', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('exit_code', 'integer')
    .addColumn('error_reason', text)
    .addColumn('started_at', text)
    .addColumn('ended_at', text)
    .addColumn('duration_ms', 'bigint')
    .addColumn('artifacts_path', text, (column) => column.notNull())
    .addColumn('stdout_truncated', 'integer', (column) => column.notNull())
    .addColumn('stderr_truncated', 'integer', (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('owner', text)
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .addColumn('backend', text)
    .addColumn('boundary_id', text)
    .addColumn('cancel_requested_at', text)
    .execute()
  await index(database, 'sandbox_execs', ['created_at', 'exec_id'])
  await index(database, 'sandbox_execs', ['project_id', 'created_at', 'exec_id'])
  await index(database, 'sandbox_execs', ['task_id', 'created_at', 'exec_id'])
  // The few that have not ended are asked for all the time; the many that have are not in this index at all.
  await sql`create index sandbox_execs_open on sandbox_execs (status, project_id, created_at)
    where status in ('QUEUED', 'RUNNING')`.execute(database)
}

async function runs({ database, text }: Schema): Promise<void> {
  await database.schema
    .createTable('runs')
    .addColumn('run_id', text, (column) => column.primaryKey())
    .addColumn('session_id', text, (column) => column.notNull())
    .addColumn('task_id', text, (column) => column.notNull())
    .addColumn('project_id', text)
    .addColumn('directory', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('executor', text)
    .addColumn('failure_reason', text)
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('updated_at', text, (column) => column.notNull())
    .addColumn('state_seq', 'bigint', (column) => column.notNull())
    .execute()
  await index(database, 'runs', ['created_at', 'run_id'])
  await index(database, 'runs', ['project_id', 'created_at', 'run_id'])
  await index(database, 'runs', ['session_id', 'created_at', 'run_id'])
}

async function index(database: Kysely<unknown>, table: string, columns: readonly string[]): Promise<void> {
  await database.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}

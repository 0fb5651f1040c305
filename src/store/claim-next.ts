// The head of the queue, taken in one statement: between finding the exec and having it, nobody else can have it.
import { sql } from 'kysely'
import type { Timestamp } from '../contract/store.ts'
import type { Engine } from './engine.ts'
import type { Database, ExecColumns } from './tables.ts'

export async function claimNext(
  database: Database,
  kind: Engine['kind'],
  { owner, started_at }: { readonly owner: string; readonly started_at: Timestamp },
): Promise<ExecColumns | undefined> {
  // Servers that claim at once on PostgreSQL pass over what another one is just taking. SQLite has one writer.
  const lock = kind === 'postgres' ? sql`for update of waiting skip locked` : sql``
  const { rows } = await sql<ExecColumns>`
    update sandbox_execs
    set status = 'RUNNING', owner = ${owner}, fence = fence + 1, started_at = ${started_at}
    where exec_id = (
      select waiting.exec_id
      from sandbox_execs as waiting
      left join (
        select project_id, count(*) as running from sandbox_execs where status = 'RUNNING' group by project_id
      ) as busy on busy.project_id = waiting.project_id
      where waiting.status = 'QUEUED' and (waiting.owner is null or waiting.owner = ${owner})
      order by coalesce(busy.running, 0), waiting.created_at, waiting.exec_id
      limit 1
      ${lock}
    )
    returning *`.execute(database)
  return rows[0]
}

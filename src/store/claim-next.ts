// The head of the queue, taken in one statement: between finding the exec and having it, nobody else can have it. Projects take
// turns: who runs the least comes first, and among those who run as much, as all do where there is one place, who had
// no turn for the longest.
import { sql } from 'kysely'
import type { Timestamp } from '../contract/store.ts'
import type { Engine } from './engine.ts'
import type { Database, ExecColumns } from './tables.ts'

/** Inside a transaction of the caller's: the exec is claimed and its project's turn counted, or neither. */
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
      left join turns on turns.project_id = waiting.project_id
      where waiting.status = 'QUEUED' and waiting.cancel_requested_at is null
        and (waiting.owner is null or waiting.owner = ${owner})
      order by coalesce(busy.running, 0), coalesce(turns.turn, 0), waiting.created_at, waiting.exec_id
      limit 1
      ${lock}
    )
    returning *`.execute(database)
  const [claimed] = rows
  if (claimed !== undefined) await countTurn(database, claimed.project_id)
  return claimed
}

/** Two that count at once may give the same number; then age decides between their projects. */
async function countTurn(database: Database, projectId: string): Promise<void> {
  await sql`
    insert into turns (project_id, turn)
    values (${projectId}, (select coalesce(max(turn), 0) + 1 from turns))
    on conflict (project_id) do update set turn = excluded.turn`.execute(database)
}

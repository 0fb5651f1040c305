// Execs of the API. Whoever changes one names the fence that it was given; a server that was believed dead and comes back
// finds its fence outdated and changes nothing.
import { sql, type ExpressionBuilder } from 'kysely'
import {
  hasEnded,
  type ExecFilter,
  type ExecPageRequest,
  type ExecRow,
  type ExecTable,
  type OpenExec,
  type PageRequest,
} from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import { claimNext } from './claim-next.ts'
import type { Engine } from './engine.ts'
import { changedColumns, toColumns, toRow } from './exec-row.ts'
import { claimKey, releaseKey } from './idempotency.ts'
import { isOneOf } from './filters.ts'
import { pageOf, refusePageSize } from './pages.ts'
import type { Database, ExecColumns, Tables } from './tables.ts'

const open = ['QUEUED', 'RUNNING'] as const
const rowsAtOnce = 100

export const createExecTable = (engine: Engine): ExecTable => ({
  async insert(row, { request, ...options } = {}) {
    const columns = toColumns(row)
    return await engine.write(async (database) => {
      if (request !== undefined) {
        const claim = await claimKey(database, { ...request, subject: row.exec_id })
        if (claim.outcome !== 'claimed') return claim
      }
      if (!(await insertIfNew(database, columns)))
        throw new GloveboxError('ALREADY_EXISTS', 'Cannot store the exec: its id is taken')
      return { outcome: 'claimed' as const }
    }, options)
  },
  wasInserted: async (row) => {
    const columns = toColumns(row)
    // To look is not enough: a commit that is still under way is not seen. Who inserts the same id waits for it; and nobody sees what
    // is inserted and deleted in one transaction.
    return await engine.write(
      async (database) => {
        if (!(await insertIfNew(database, columns))) return true
        await database.deleteFrom('sandbox_execs').where('exec_id', '=', row.exec_id).execute()
        return false
      },
      { durability: 'written' },
    )
  },
  find: (execId) => engine.read(async (database) => await findExec(database, execId)),
  list: async (filter, page) => {
    refusePageSize(page)
    const limit = page.mostText === undefined ? page.limit : await engine.read((db) => countShort(db, filter, page))
    const asked = { ...page, limit }
    const rows = await engine.read((database) => newest(database, filter, asked).selectAll().execute())
    return pageOf(rows.map(toRow), asked, ({ exec_id }) => exec_id)
  },
  listOpen: async (filter, page) => {
    refusePageSize(page)
    const columns = ['exec_id', 'owner', 'boundary_id', 'created_at'] as const
    const rows = await engine.read((database) =>
      newest(database, { ...filter, status: open }, page)
        .select(columns)
        .execute(),
    )
    return pageOf(rows as OpenExec[], page, ({ exec_id }) => exec_id)
  },
  count: (filter) =>
    engine.read(async (database) => {
      const { found } = await database
        .selectFrom('sandbox_execs')
        .select(({ fn }) => fn.countAll<number>().as('found'))
        .where((eb) => matches(eb, filter))
        .executeTakeFirstOrThrow()
      return found
    }),
  countLoad: ({ owner, project_id, except }) =>
    engine.read((database) =>
      database
        .selectFrom('sandbox_execs')
        .select(({ fn }) => [
          fn.countAll<number>().filterWhere('status', '=', 'QUEUED').as('queued'),
          fn
            .countAll<number>()
            .filterWhere('status', '=', 'QUEUED')
            .filterWhere('project_id', '=', project_id)
            .as('queuedOfProject'),
          fn.countAll<number>().filterWhere('status', '=', 'RUNNING').filterWhere('owner', '=', owner).as('running'),
        ])
        .where((eb) => isOneOf(eb, open))
        .$if(except.length > 0, (query) => query.where('exec_id', 'not in', except))
        .executeTakeFirstOrThrow(),
    ),
  owners: () =>
    engine.read(async (database) => {
      const rows = await database
        .selectFrom('sandbox_execs')
        .select('owner')
        .distinct()
        .where((eb) => isOneOf(eb, open))
        .where('owner', 'is not', null)
        .execute()
      return rows.flatMap(({ owner }) => (owner === null ? [] : [owner]))
    }),
  update: async (execId, fence, change, options) => {
    const columns = changedColumns(change)
    return await engine.write(async (database) => {
      const { numUpdatedRows } = await database
        .updateTable('sandbox_execs')
        .set(columns)
        .where('exec_id', '=', execId)
        .where('fence', '=', fence)
        .where('status', 'in', open)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    }, options)
  },
  claimNext: async (claim, options) => {
    const columns = await engine.write((database) => claimNext(database, engine.kind, claim), options)
    return columns === undefined ? undefined : toRow(columns)
  },
  takeOver: (execId, { from, to }) =>
    engine.write(async (database) => {
      const columns = await database
        .updateTable('sandbox_execs')
        .set((eb) => ({ owner: to, fence: eb('fence', '+', 1) }))
        .where('exec_id', '=', execId)
        .where('status', 'in', open)
        .where('owner', from === null ? 'is' : '=', from)
        .returningAll()
        .executeTakeFirst()
      return columns === undefined ? undefined : toRow(columns)
    }),
  requestCancel: (execId, { by, at }) =>
    engine.write(async (database) => {
      // In one statement: between two of them an exec could go from the one state to the other, and be in neither.
      await database
        .updateTable('sandbox_execs')
        .set((eb) => ({
          cancel_requested_at: at,
          owner: eb.case().when('status', '=', 'QUEUED').then(by).else(eb.ref('owner')).end(),
          fence: eb('fence', '+', eb.case().when('status', '=', 'QUEUED').then(1).else(0).end()),
        }))
        .where('exec_id', '=', execId)
        .where('status', 'in', open)
        .where('cancel_requested_at', 'is', null)
        .execute()
      return await findExec(database, execId)
    }),
  withdraw: (execId, request) =>
    engine.write(async (database) => {
      const { numDeletedRows } = await database
        .deleteFrom('sandbox_execs')
        .where('exec_id', '=', execId)
        .where('status', '=', 'QUEUED')
        .where('cancel_requested_at', 'is', null)
        .executeTakeFirst()
      if (numDeletedRows === 0n) return false
      if (request !== undefined) await releaseKey(database, { ...request, subject: execId })
      return true
    }),
  restore: async (rows) => {
    for (let from = 0; from < rows.length; from += rowsAtOnce) {
      const columns = rows.slice(from, from + rowsAtOnce).map(toColumns)
      await engine.write(async (database) => {
        for (const row of columns) await replace(database, row)
      })
    }
  },
})

async function findExec(database: Database, execId: string): Promise<ExecRow | undefined> {
  const columns = await database
    .selectFrom('sandbox_execs')
    .selectAll()
    .where('exec_id', '=', execId)
    .executeTakeFirst()
  return columns === undefined ? undefined : toRow(columns)
}

async function insertIfNew(database: Database, columns: ExecColumns): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await database
    .insertInto('sandbox_execs')
    .values(columns)
    .onConflict((conflict) => conflict.column('exec_id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

async function replace(database: Database, columns: ExecColumns): Promise<void> {
  const { owner: _owner, fence: _fence, cancel_requested_at: _asked, ...said } = columns
  await database
    .insertInto('sandbox_execs')
    .values(columns)
    .onConflict((conflict) =>
      hasEnded(columns.status) ? conflict.column('exec_id').doUpdateSet(said) : conflict.column('exec_id').doNothing(),
    )
    .execute()
}

/** One row more than the page. */
const newest = (database: Database, filter: ExecFilter, { limit, after }: PageRequest) =>
  database
    .selectFrom('sandbox_execs')
    .where((eb) => matches(eb, filter))
    .$if(after !== undefined, (query) =>
      query.where((eb) =>
        eb(eb.refTuple('created_at', 'exec_id'), '<', eb.tuple(after?.created_at ?? '', after?.id ?? '')),
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('exec_id', 'desc')
    .limit(limit + 1)

/** How many rows of the page are no longer together than was asked for; their text stays in the database. */
async function countShort(database: Database, filter: ExecFilter, page: ExecPageRequest): Promise<number> {
  const { limit, mostText = Number.POSITIVE_INFINITY } = page
  const length = sql<number>`length(cmd) + length(args) + length(env_keys) + length(policy_snapshot)`
  const rows = await newest(database, filter, page).select(length.as('length')).execute()
  let total = 0
  const short = rows.slice(0, limit).findIndex((row) => (total += row.length) > mostText)
  return short === -1 ? limit : Math.max(1, short)
}

function matches(eb: ExpressionBuilder<Tables, 'sandbox_execs'>, filter: ExecFilter) {
  const { status, owner, cancel_requested, ...equal } = filter
  return eb.and([
    ...(Object.keys(equal) as (keyof typeof equal)[]).flatMap((column) =>
      equal[column] === undefined ? [] : [eb(column, '=', equal[column])],
    ),
    ...(status === undefined ? [] : [isOneOf(eb, status)]),
    ...(owner === undefined ? [] : [eb('owner', owner === null ? 'is' : '=', owner)]),
    ...(cancel_requested === undefined ? [] : [eb('cancel_requested_at', 'is not', null)]),
  ])
}

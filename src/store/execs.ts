// Execs of the API. Whoever changes one names the fence that it was given; a server that was believed dead and comes back
// finds its fence outdated and changes nothing.
import type { ExpressionBuilder } from 'kysely'
import { hasEnded, type ExecFilter, type ExecRow, type ExecTable, type PageRequest } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import { claimNext } from './claim-next.ts'
import type { Engine } from './engine.ts'
import { changedColumns, toColumns, toRow } from './exec-row.ts'
import { claimKey } from './idempotency.ts'
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
      await insertNew(database, columns)
      return { outcome: 'claimed' as const }
    }, options)
  },
  find: (execId) => engine.read(async (database) => await findExec(database, execId)),
  list: async (filter, page) => {
    refusePageSize(page)
    const rows = await engine.read((database) => select(database, filter, page))
    return pageOf(rows.map(toRow), page, ({ exec_id }) => exec_id)
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
  requestCancel: (execId, at) =>
    engine.write(async (database) => {
      await endQueued(database, execId, at)
      await database
        .updateTable('sandbox_execs')
        .set({ cancel_requested_at: at })
        .where('exec_id', '=', execId)
        .where('status', '=', 'RUNNING')
        .where('cancel_requested_at', 'is', null)
        .execute()
      return await findExec(database, execId)
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

async function insertNew(database: Database, columns: ExecColumns): Promise<void> {
  const { numInsertedOrUpdatedRows } = await database
    .insertInto('sandbox_execs')
    .values(columns)
    .onConflict((conflict) => conflict.column('exec_id').doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows !== 1n)
    throw new GloveboxError('ALREADY_EXISTS', 'Cannot store the exec: its id is taken')
}

async function endQueued(database: Database, execId: string, at: string): Promise<void> {
  await database
    .updateTable('sandbox_execs')
    .set((eb) => ({ status: 'CANCELLED', cancel_requested_at: at, ended_at: at, fence: eb('fence', '+', 1) }))
    .where('exec_id', '=', execId)
    .where('status', '=', 'QUEUED')
    .execute()
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

const select = (database: Database, filter: ExecFilter, { limit, after }: PageRequest): Promise<ExecColumns[]> =>
  database
    .selectFrom('sandbox_execs')
    .selectAll()
    .where((eb) => matches(eb, filter))
    .$if(after !== undefined, (query) =>
      query.where((eb) =>
        eb(eb.refTuple('created_at', 'exec_id'), '<', eb.tuple(after?.created_at ?? '', after?.id ?? '')),
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('exec_id', 'desc')
    .limit(limit + 1)
    .execute()

function matches(eb: ExpressionBuilder<Tables, 'sandbox_execs'>, filter: ExecFilter) {
  const { status, owner, cancel_requested, except = [], ...equal } = filter
  return eb.and([
    ...(Object.keys(equal) as (keyof typeof equal)[]).flatMap((column) =>
      equal[column] === undefined ? [] : [eb(column, '=', equal[column])],
    ),
    ...(status === undefined ? [] : [isOneOf(eb, status)]),
    ...(owner === undefined ? [] : [eb('owner', owner === null ? 'is' : '=', owner)]),
    ...(except.length === 0 ? [] : [eb('exec_id', 'not in', except)]),
    ...(cancel_requested === undefined ? [] : [eb('cancel_requested_at', 'is not', null)]),
  ])
}

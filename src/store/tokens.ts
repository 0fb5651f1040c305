// Tokens, known by their hash. Nothing here decides whether one is good: a row is handed out with its times.
import { sql } from 'kysely'
import type { TokenRow, TokenScope, TokenTable } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import type { Engine } from './engine.ts'
import { pageOf, refusePageSize } from './pages.ts'
import type { Database, TokenColumns } from './tables.ts'
import { refuseUnstorable } from './text.ts'

const toRow = (columns: TokenColumns): TokenRow => ({
  ...columns,
  scopes: JSON.parse(columns.scopes) as TokenScope[],
})

function toColumns(row: TokenRow): TokenColumns {
  const columns: TokenColumns = { ...row, scopes: JSON.stringify(row.scopes) }
  refuseUnstorable({ ...columns })
  return columns
}

/** Held by whoever makes the first token of a database. */
const firstTokenLock = 0x74_6f_6b_31

export const createTokenTable = (engine: Engine): TokenTable => ({
  insert: async (row) => {
    const columns = toColumns(row)
    await engine.write((database) => insert(database, columns))
  },
  insertFirst: async (row) => {
    const columns = toColumns(row)
    return engine.write(async (database) => {
      // SQLite has one writer at a time as it is.
      if (engine.kind === 'postgres') await sql`select pg_advisory_xact_lock(${firstTokenLock})`.execute(database)
      if ((await count(database)) > 0) return false
      await insert(database, columns)
      return true
    })
  },
  findByHash: (hash) => engine.read((database) => findBy(database, 'hash', hash)),
  find: (id) => engine.read((database) => findBy(database, 'id', id)),
  list: async ({ project }, page) => {
    refusePageSize(page)
    const { after, limit } = page
    const rows = await engine.read((database) =>
      database
        .selectFrom('tokens')
        .selectAll()
        .$if(project !== undefined, (query) => query.where('project', '=', project ?? ''))
        .$if(after !== undefined, (query) =>
          query.where((eb) =>
            eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(after?.created_at ?? '', after?.id ?? '')),
          ),
        )
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1)
        .execute(),
    )
    return pageOf(rows.map(toRow), page, ({ id }) => id)
  },
  revoke: (id, at) =>
    engine.write(async (database) => {
      await database
        .updateTable('tokens')
        .set({ revoked_at: at })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .execute()
      return (await findBy(database, 'id', id)) !== undefined
    }),
  count: () => engine.read(count),
})

async function insert(database: Database, columns: TokenColumns): Promise<void> {
  const { numInsertedOrUpdatedRows } = await database
    .insertInto('tokens')
    .values(columns)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows !== 1n)
    throw new GloveboxError('ALREADY_EXISTS', 'Cannot store the token: its id or its hash is there already')
}

async function count(database: Database): Promise<number> {
  const { found } = await database
    .selectFrom('tokens')
    .select(({ fn }) => fn.countAll<number>().as('found'))
    .executeTakeFirstOrThrow()
  return found
}

async function findBy(database: Database, column: 'id' | 'hash', value: string): Promise<TokenRow | undefined> {
  const columns = await database.selectFrom('tokens').selectAll().where(column, '=', value).executeTakeFirst()
  return columns === undefined ? undefined : toRow(columns)
}

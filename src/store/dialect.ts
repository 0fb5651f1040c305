// Kysely compiles the queries; whoever has a connection runs them. Transactions are the engines' own, because what may be
// retried, and when, is different on each.
import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from 'kysely'
import type { Database, Tables } from './tables.ts'

export interface Answer {
  readonly rows: readonly unknown[]
  readonly affected: number
}

export type RunQuery = (text: string, parameters: readonly unknown[]) => Promise<Answer>

const engines = {
  sqlite: { adapter: SqliteAdapter, compiler: SqliteQueryCompiler, introspector: SqliteIntrospector },
  postgres: { adapter: PostgresAdapter, compiler: PostgresQueryCompiler, introspector: PostgresIntrospector },
} as const

export function databaseOver(kind: keyof typeof engines, run: RunQuery): Database {
  const { adapter: Adapter, compiler: Compiler, introspector: Introspector } = engines[kind]
  const dialect: Dialect = {
    createAdapter: () => new Adapter(),
    createDriver: () => driverOver(run),
    createIntrospector: (database) => new Introspector(database),
    createQueryCompiler: () => new Compiler(),
  }
  return new Kysely<Tables>({ dialect })
}

function driverOver(run: RunQuery): Driver {
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: { readonly sql: string; readonly parameters: readonly unknown[] }) {
      const { rows, affected } = await run(sql, parameters)
      return { rows: rows as Row[], numAffectedRows: BigInt(affected) }
    },
    streamQuery: () => {
      throw new Error('queries are not streamed here')
    },
  }
  const done = async (): Promise<void> => {}
  const notHere = async (): Promise<void> => {
    throw new Error('transactions are begun by the engine')
  }
  return {
    init: done,
    acquireConnection: async () => connection,
    beginTransaction: notHere,
    commitTransaction: notHere,
    rollbackTransaction: notHere,
    releaseConnection: done,
    destroy: done,
  }
}

// Connections to one PostgreSQL: a pool, and single fresh ones for the second attempt, since after a restart the pool may hold
// several dead ones. Every wait has a bound on this side, because a server that hangs keeps none of its own.
import { Client, Pool, types, type ClientBase, type ClientConfig } from 'pg'
import { databaseOver } from '../dialect.ts'
import type { Database } from '../tables.ts'
import { NotConnected, spoilsConnection } from './faults.ts'

export interface Connection {
  readonly client: ClientBase
  readonly database: Database
  /** It is closed afterwards and not used again. */
  discard(): void
}

export interface Connections {
  /** `fresh` opens a connection of its own. What an error may have spoiled is closed and not used again. */
  use<T>(options: { readonly fresh: boolean }, work: (connection: Connection) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface ConnectionLimits {
  readonly connectMs: number
  readonly queryMs: number
  readonly connections: number
}

const int8 = 20

/** Counters and sizes here stay far below 2^53. */
const typeParsers: NonNullable<ClientConfig['types']> = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : (types.getTypeParser(oid, format) as unknown)) as typeof types.getTypeParser,
}

export function openConnections(url: string, limits: ConnectionLimits): Connections {
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'glovebox',
    connectionTimeoutMillis: limits.connectMs,
    query_timeout: limits.queryMs,
    // A little sooner than ours, so that the server's own word for it comes first where it still speaks.
    statement_timeout: Math.floor(limits.queryMs * 0.8),
    lock_timeout: Math.floor(limits.queryMs * 0.8),
    idle_in_transaction_session_timeout: limits.queryMs * 2,
    keepAlive: true,
    types: typeParsers,
  }
  const pool = new Pool({ ...config, max: limits.connections })
  // An error event that nobody hears ends the process. The pool drops an idle connection that breaks; one that is in use
  // tells whoever uses it by the query that fails.
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  const databases = new WeakMap<ClientBase, Database>()
  const databaseOf = (client: ClientBase): Database => {
    const database = databases.get(client) ?? databaseOver('postgres', (text, values) => query(client, text, values))
    databases.set(client, database)
    return database
  }

  return {
    async use({ fresh }, work) {
      if (fresh)
        return await useOnce(config, (client) => work({ client, database: databaseOf(client), discard: ignore }))
      const client = await connected(() => pool.connect())
      let spoilt = false
      const discard = (): void => {
        spoilt = true
      }
      try {
        return await work({ client, database: databaseOf(client), discard })
      } catch (error) {
        spoilt ||= spoilsConnection(error)
        throw error
      } finally {
        client.release(spoilt)
      }
    },
    close: () => pool.end(),
  }
}

async function useOnce<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  // The URL is read here.
  const client = await connected(async () => new Client(config))
  client.on('error', ignore)
  try {
    await connected(() => client.connect())
    return await work(client)
  } finally {
    // A server that hangs does not say goodbye either.
    client.end().catch(ignore)
  }
}

async function connected<T>(connect: () => Promise<T>): Promise<T> {
  try {
    return await connect()
  } catch (error) {
    throw new NotConnected(error)
  }
}

async function query(client: ClientBase, text: string, values: readonly unknown[]) {
  const { rows, rowCount } = await client.query<Record<string, unknown>>(text, [...values])
  return { rows, affected: rowCount ?? 0 }
}

const ignore = (): void => {}

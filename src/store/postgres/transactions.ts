// A transaction whose connection breaks in the middle of `commit` may or may not have happened. PostgreSQL can be asked: each
// transaction has an id, and the id a status. So a write is repeated only when the first one is known to be void.
import { setTimeout as delay } from 'node:timers/promises'
import type { QueryResult } from 'pg'
import type { WriteOptions } from '../../contract/store.ts'
import { inDoubt } from '../../errors/doubt.ts'
import type { Work } from '../engine.ts'
import { unavailable } from '../fault.ts'
import type { Connection, Connections } from './connections.ts'

/** The connection broke while the commit was on its way. Not an error of its own: it is settled before anyone sees it. */
export interface Doubt<T> {
  readonly transaction: string
  readonly value: T
  readonly error: unknown
}

export type Outcome<T> = { readonly value: T } | { readonly doubt: Doubt<T> }

export async function transact<T>(connection: Connection, work: Work<T>, options: WriteOptions): Promise<Outcome<T>> {
  const { client, database } = connection
  const transaction = await begin(connection, options)
  let value: T
  try {
    value = await work(database)
  } catch (error) {
    await client.query('rollback').catch(() => connection.discard())
    throw error
  }
  try {
    await client.query('commit')
    return { value }
  } catch (error) {
    connection.discard()
    return { doubt: { transaction, value, error } }
  }
}

/** Several statements in one message: one answer each, and one round trip. */
async function begin(connection: Connection, { durability = 'synced' }: WriteOptions): Promise<string> {
  const lazily = durability === 'written' ? 'set local synchronous_commit = off;' : ''
  const answers: unknown = await connection.client
    .query(`begin; ${lazily} select pg_current_xact_id()::text as id`)
    .catch((error: unknown) => {
      // It may have begun, and failed behind that: whoever had the connection next would be in it.
      connection.discard()
      throw error
    })
  const last = (answers as readonly QueryResult<{ readonly id: string }>[]).at(-1)
  const id = last?.rows[0]?.id
  if (id === undefined) throw new Error('PostgreSQL gave the transaction no id')
  return id
}

const settleMs = 3_000
const pauseMs = 50

/** True if the transaction was committed, false if it is void. Throws where nobody can tell. */
export async function settle({ transaction, error }: Doubt<unknown>, connections: Connections): Promise<boolean> {
  const deadline = performance.now() + settleMs
  try {
    return await connections.use({ fresh: true }, async ({ client }) => {
      for (;;) {
        const { rows } = await client.query<{ readonly status: string | null }>(
          'select pg_xact_status($1::xid8) as status',
          [transaction],
        )
        const status = rows[0]?.status
        if (status === 'committed') return true
        if (status === 'aborted') return false
        // The old backend may still be at it.
        if (status !== 'in progress' || performance.now() >= deadline) throw unknown(error)
        await delay(pauseMs)
      }
    })
  } catch {
    throw unknown(error)
  }
}

const unknown = (error: unknown): Error =>
  unavailable('the connection was lost while it was committing, and whether it did cannot be known', {
    hint: 'Look whether it was done before you try again, or send the same Idempotency-Key.',
    facts: inDoubt,
    error,
  })

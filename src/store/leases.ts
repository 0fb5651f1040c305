// Leases in PostgreSQL. Whoever asks about a lease holds a lock on its id until the answer is committed, so two questions about one id
// are never answered at once. The database's clock tells whether a lease is over; no server's clock is ever asked.
import { randomBytes } from 'node:crypto'
import { sql, type RawBuilder } from 'kysely'
import type { SandboxId } from '../contract/ids.ts'
import type { FormerLease, LeaseAnswer, LeaseRow, Leases, LeaseState } from '../contract/lease.ts'
import type { Engine } from './engine.ts'
import type { Database } from './tables.ts'

const defaultTtlMs = 30_000
/** Not `now()`, which stands still through a transaction. */
const nowMs = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`

interface Found {
  readonly owner: string
  readonly token: number
  readonly state: LeaseState
  readonly is_over: boolean
}

export function createLeases(engine: Engine, { ttlMs = defaultTtlMs }: { readonly ttlMs?: number } = {}): Leases {
  const owner = `own_${randomBytes(16).toString('hex')}`
  const until = sql<number>`${nowMs} + cast(${ttlMs} as bigint)`

  const grant = async (
    database: Database,
    id: SandboxId,
    state: LeaseState,
    found: Found | undefined,
  ): Promise<LeaseAnswer> => {
    const values = { owner, token: sql<number>`nextval('lease_tokens')`, state, expires_at: until }
    const { token } = await database
      .insertInto('leases')
      .values({ id, ...values })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
      .returning('token')
      .executeTakeFirstOrThrow()
    return { granted: true, token, former: formerOf(found, owner) }
  }

  const ask = (
    id: SandboxId,
    state: LeaseState,
    mayHave: (found: Found | undefined) => boolean,
  ): Promise<LeaseAnswer> =>
    engine.write(async (database) => {
      await sql`select pg_advisory_xact_lock(${lockOf(id)})`.execute(database)
      const found = await findForUpdate(database, id)
      if (mayHave(found)) return await grant(database, id, state, found)
      return { granted: false, state: found?.state ?? 'destroying' }
    })

  return {
    owner,
    ttlMs,
    take: (id) =>
      ask(id, 'active', (found) => {
        if (found === undefined || found.is_over || found.state === 'warm') return true
        return found.owner === owner && found.state === 'active'
      }),
    condemn: (id, held) =>
      ask(id, 'destroying', (found) => {
        if (held === undefined) return found === undefined || found.is_over
        return found?.owner === owner && (found.token === held.token || found.state === 'destroying')
      }),
    park: ({ id, token }) =>
      engine.write(async (database) => {
        const row = await database
          .updateTable('leases')
          .set({ state: 'warm' })
          .where('id', '=', id)
          .where('owner', '=', owner)
          .where('token', '=', token)
          .returning('id')
          .executeTakeFirst()
        return row !== undefined
      }),
    renew: (held) =>
      engine.write(async (database) => {
        if (held.length === 0) return new Set()
        // Tokens are given out once, so they name leases.
        const rows = await database
          .updateTable('leases')
          .set({ expires_at: until })
          .where('owner', '=', owner)
          .where(
            'token',
            'in',
            held.map(({ token }) => token),
          )
          .returning('id')
          .execute()
        return new Set(rows.map(({ id }) => id as SandboxId))
      }),
    drop: ({ id, token }) =>
      engine.write(async (database) => {
        await database
          .deleteFrom('leases')
          .where('id', '=', id)
          .where('owner', '=', owner)
          .where('token', '=', token)
          .execute()
      }),
    list: () =>
      engine.read(async (database): Promise<readonly LeaseRow[]> => {
        const rows = await database
          .selectFrom('leases')
          .select(['id', 'owner', 'token', 'state', isOver])
          .orderBy('id')
          .execute()
        return rows.map(({ id, state, is_over, ...row }) => ({
          ...row,
          id: id as SandboxId,
          state: state as LeaseState,
          isOver: is_over,
        }))
      }),
    // The connections are the store's.
    close: async () => {},
  }
}

const isOver = sql<boolean>`expires_at <= ${nowMs}`.as('is_over')

/** Also of an id that has no row yet: of two that would both insert it, the second must not have its token first. */
const lockOf = (id: SandboxId): RawBuilder<unknown> => sql`hashtextextended(${id}, 0)`

async function findForUpdate(database: Database, id: SandboxId): Promise<Found | undefined> {
  const row = await database
    .selectFrom('leases')
    .select(['owner', 'token', 'state', isOver])
    .where('id', '=', id)
    // A renewal that is on its way waits for us, and then finds its token gone.
    .forUpdate()
    .executeTakeFirst()
  return row === undefined ? undefined : { ...row, state: row.state as LeaseState }
}

function formerOf(found: Found | undefined, owner: string): FormerLease {
  if (found === undefined) return { was: 'none' }
  const { token, state } = found
  return { was: found.owner === owner ? 'own' : found.is_over ? 'expired' : 'parked', token, state }
}

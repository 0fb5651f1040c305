// One request under one key, however often it is sent and however many servers it reaches at once.
import type { Claim, IdempotencyRow, IdempotencyTable } from '../contract/idempotency.ts'
import type { Engine } from './engine.ts'
import type { Database } from './tables.ts'
import { refuseUnstorable } from './text.ts'

type Asked = Omit<IdempotencyRow, 'answer'>

export const createIdempotencyTable = (engine: Engine): IdempotencyTable => ({
  claim: (request) => engine.write((database) => claimKey(database, request)),
  finish: ({ project_id, key, answer }) =>
    engine.write(async (database) => {
      await database
        .updateTable('idempotency')
        .set({ answer })
        .where('project_id', '=', project_id)
        .where('key', '=', key)
        .where('answer', 'is', null)
        .execute()
    }),
  find: (at) => engine.read((database) => findKey(database, at)),
  release: ({ project_id, key, subject }) =>
    engine.write(async (database) => {
      await database
        .deleteFrom('idempotency')
        .where('project_id', '=', project_id)
        .where('key', '=', key)
        .where('subject', '=', subject)
        .where('answer', 'is', null)
        .execute()
    }),
  purge: ({ than }) =>
    engine.write(async (database) => {
      const { numDeletedRows } = await database
        .deleteFrom('idempotency')
        .where('created_at', '<', than)
        .executeTakeFirst()
      return Number(numDeletedRows)
    }),
})

/** Inside a transaction of the caller's. On PostgreSQL the insert waits for whoever is just inserting the same key. */
export async function claimKey(database: Database, asked: Asked): Promise<Claim> {
  const { project_id, key, body_sha256, subject, created_at } = asked
  const row = { project_id, key, body_sha256, subject, created_at, answer: null }
  refuseUnstorable(row)
  const { numInsertedOrUpdatedRows } = await database
    .insertInto('idempotency')
    .values(row)
    .onConflict((conflict) => conflict.columns(['project_id', 'key']).doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 1n) return { outcome: 'claimed' }
  const there = await findKey(database, asked)
  if (there === undefined) throw new Error('an idempotency key vanished while it was looked at')
  return there.body_sha256 === body_sha256 ? { outcome: 'repeated', row: there } : { outcome: 'mismatch' }
}

const findKey = (
  database: Database,
  { project_id, key }: { readonly project_id: string; readonly key: string },
): Promise<IdempotencyRow | undefined> =>
  database
    .selectFrom('idempotency')
    .selectAll()
    .where('project_id', '=', project_id)
    .where('key', '=', key)
    .executeTakeFirst()

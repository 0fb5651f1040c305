// One request under one key, however often it is sent and however many servers it reaches at once.
import type { Claim, IdempotencyRow, IdempotencyTable } from '../contract/idempotency.ts'
import type { Engine } from './engine.ts'
import { unavailable } from './fault.ts'
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
  release: (at) => engine.write((database) => releaseKey(database, at)),
  purge: ({ than }) =>
    engine.write(async (database) => {
      const { numDeletedRows } = await database
        .deleteFrom('idempotency')
        .where('created_at', '<', than)
        .executeTakeFirst()
      return Number(numDeletedRows)
    }),
})

/** One that was there may be given back before it is looked at, and then be taken by another again. */
const mostTries = 10

/** Inside a transaction of the caller's. On PostgreSQL the insert waits for whoever is just inserting the same key. */
export async function claimKey(database: Database, asked: Asked): Promise<Claim> {
  const { project_id, key, body_sha256, subject, created_at } = asked
  const row = { project_id, key, body_sha256, subject, created_at, answer: null }
  refuseUnstorable(row)
  for (let tries = 0; tries < mostTries; tries++) {
    const { numInsertedOrUpdatedRows } = await database
      .insertInto('idempotency')
      .values(row)
      .onConflict((conflict) => conflict.columns(['project_id', 'key']).doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 1n) return { outcome: 'claimed' }
    const there = await findKey(database, asked)
    if (there !== undefined)
      return there.body_sha256 === body_sha256 ? { outcome: 'repeated', row: there } : { outcome: 'mismatch' }
  }
  throw unavailable('others took the same key and gave it back', {
    hint: 'Nothing was written. Try again in a moment.',
  })
}

/** Inside a transaction of the caller's. One that has its answer stays. */
export async function releaseKey(
  database: Database,
  { project_id, key, subject }: Pick<Asked, 'project_id' | 'key' | 'subject'>,
): Promise<void> {
  await database
    .deleteFrom('idempotency')
    .where('project_id', '=', project_id)
    .where('key', '=', key)
    .where('subject', '=', subject)
    .where('answer', 'is', null)
    .execute()
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

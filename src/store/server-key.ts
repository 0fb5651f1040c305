// The key that servers of one database sign with what their callers carry from one to the other. It lies beside the installation's id, so
// that it needs no table of its own.
import type { Store } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import type { Engine } from './engine.ts'
import type { Database } from './tables.ts'

const name = 'server_key'

export async function keepServerKey(engine: Engine, offer: () => Uint8Array): ReturnType<Store['serverKey']> {
  const find = (): Promise<string | undefined> => engine.read(findKey)
  return read((await find()) ?? (await kept(engine, offer)) ?? (await find()))
}

/** Undefined: another server was quicker. */
async function kept(engine: Engine, offer: () => Uint8Array): Promise<string | undefined> {
  const value = Buffer.from(offer()).toString('hex')
  return await engine.write(async (database) => {
    const { numInsertedOrUpdatedRows } = await database
      .insertInto('meta')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n ? value : undefined
  })
}

async function findKey(database: Database): Promise<string | undefined> {
  return (await database.selectFrom('meta').select('value').where('name', '=', name).executeTakeFirst())?.value
}

/** 32 bytes or more. One that somebody shortened could be guessed. */
const wellFormed = /^(?:[0-9a-f]{2}){32,}$/

function read(value: string | undefined): Uint8Array {
  if (value !== undefined && wellFormed.test(value)) return Buffer.from(value, 'hex')
  throw new GloveboxError('STORE_INCOMPATIBLE', 'Cannot open the database: the key of its servers cannot be read', {
    hint: `Delete the row ${name} of the table meta: it is made anew, and lists that are being read begin again.`,
  })
}

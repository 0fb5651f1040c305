// Brings a database to the schema of this code: forward only, one step after the other, all of it or nothing. A database
// of a newer schema is refused and left alone.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { GloveboxError } from '../../errors/error.ts'
import type { Engine } from '../engine.ts'
import { textOfError } from '../fault.ts'
import type { Database } from '../tables.ts'
import { first } from './0001-first.ts'
import { leases } from './0002-leases.ts'
import { turns } from './0003-turns.ts'
import { images } from './0004-images.ts'
import { textOf, type Migration, type Schema } from './schema.ts'

/** The place in this list is the version it brings: released steps keep their place for ever. */
export const migrations: readonly Migration[] = [first, leases, turns, images]

export const currentSchema = migrations.length

/** Any number that other programs in the same PostgreSQL are unlikely to lock by. */
const advisoryLock = 0x67_6c_6f_76

export interface Migrated {
  readonly schema: number
  readonly installationId: string
}

/** `upTo` is for tests that need a database as an earlier version made it. */
export async function migrate(
  engine: Engine,
  { upTo = currentSchema }: { readonly upTo?: number } = {},
): Promise<Migrated> {
  try {
    return await bring(engine, upTo)
  } catch (error) {
    throw isForeignSchema(error) ? notOurs(error) : error
  }
}

function bring(engine: Engine, upTo: number): Promise<Migrated> {
  return engine.change(async (database) => {
    // `create table if not exists` races with itself on PostgreSQL. SQLite's transaction holds the write lock already.
    if (engine.kind === 'postgres') await sql`select pg_advisory_xact_lock(${advisoryLock})`.execute(database)
    const text = textOf(engine.kind)
    await sql`create table if not exists meta (name ${text} primary key, value ${text} not null)`.execute(database)
    const found = await schemaOf(database)
    if (found > currentSchema) throw tooNew(found)
    for (const step of migrations.slice(found, upTo))
      await step({ database: database as unknown as Schema['database'], text }, engine.kind)
    if (upTo > found) await remember(database, upTo)
    return { schema: Math.max(found, upTo), installationId: await installationOf(database) }
  })
}

export async function schemaOf(database: Database): Promise<number> {
  const row = await database.selectFrom('meta').select('value').where('name', '=', 'schema').executeTakeFirst()
  const version = Number(row?.value ?? 0)
  if (!Number.isSafeInteger(version) || version < 0)
    throw new GloveboxError(
      'STORE_INCOMPATIBLE',
      'Cannot open the database: its schema has no version that can be read',
      {
        hint: 'Is it a database of Glovebox? Name another one, or an empty one.',
      },
    )
  return version
}

async function remember(database: Database, version: number): Promise<void> {
  await database
    .insertInto('meta')
    .values({ name: 'schema', value: String(version) })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: String(version) }))
    .execute()
}

async function installationOf(database: Database): Promise<string> {
  await database
    .insertInto('meta')
    .values({ name: 'installation_id', value: `inst_${randomBytes(16).toString('hex')}` })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const row = await database
    .selectFrom('meta')
    .select('value')
    .where('name', '=', 'installation_id')
    .executeTakeFirstOrThrow()
  return row.value
}

/** PostgreSQL's class 42 and SQLite's plain error: a table that is not as it should be, or must not be made. */
const isForeignSchema = (error: unknown): boolean =>
  error instanceof Error &&
  (('errcode' in error && error.errcode === 1) ||
    ('code' in error && typeof error.code === 'string' && error.code.startsWith('42')))

const notOurs = (error: unknown): GloveboxError =>
  new GloveboxError(
    'STORE_INCOMPATIBLE',
    'Cannot open the database: it holds tables that are not ours, or forbids making any',
    {
      hint: 'Give Glovebox a database of its own, or a schema: postgres://…?options=-csearch_path%3Dglovebox. Nothing was changed.',
      operatorDetail: textOfError(error),
      cause: error,
    },
  )

const tooNew = (found: number): GloveboxError =>
  new GloveboxError(
    'STORE_INCOMPATIBLE',
    `Cannot open the database: its schema is version ${found}, and this Glovebox knows only up to ${currentSchema}`,
    { hint: 'Use the newer Glovebox that made it. Nothing was changed.' },
  )

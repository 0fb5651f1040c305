// The store: what the server must find again by query, on SQLite or PostgreSQL. It is the only room with SQL. It promises that
// a write is there, wholly, once it was answered; that every call ends within a bounded time; and that nothing is repeated
// which may have happened. It must not know what an exec, a run or a token is for, nor where the files behind them lie.
import type { Store, StoreHealth } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import type { Engine } from './engine.ts'
import { createExecTable } from './execs.ts'
import { createIdempotencyTable } from './idempotency.ts'
import { currentSchema, migrate } from './migrations/migrate.ts'
import { createOwnerTable } from './owners.ts'
import { createLeases } from './leases.ts'
import { createRunTable } from './runs.ts'
import { createTokenTable } from './tokens.ts'

export interface StoreOptions {
  /** `postgres://…`, `sqlite:<host path>`, or the host path of a SQLite file. */
  readonly url: string
  /** As long as a call waits for others that hold a SQLite file. */
  readonly waitMs?: number
  /** PostgreSQL: bounds of connecting and of one query. */
  readonly connectMs?: number
  readonly queryMs?: number
}

export async function openStore(options: StoreOptions): Promise<Store> {
  const { engine, quarantined } = await openEngine(options)
  try {
    const { installationId } = await migrate(engine)
    return {
      installationId,
      quarantined,
      execs: createExecTable(engine),
      owners: createOwnerTable(engine),
      tokens: createTokenTable(engine),
      idempotency: createIdempotencyTable(engine),
      runs: createRunTable(engine),
      openLeases: engine.kind === 'postgres' ? (leaseOptions) => createLeases(engine, leaseOptions) : undefined,
      health: () => healthOf(engine),
      close: () => engine.close(),
    }
  } catch (error) {
    await engine.close()
    throw error
  }
}

export async function openEngine({
  url,
  waitMs,
  connectMs,
  queryMs,
}: StoreOptions): Promise<{ readonly engine: Engine; readonly quarantined: string | undefined }> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase()
  if (scheme === 'postgres' || scheme === 'postgresql') {
    const { openPostgres } = await import('./postgres/engine.ts')
    const limits = { ...(connectMs === undefined ? {} : { connectMs }), ...(queryMs === undefined ? {} : { queryMs }) }
    return { engine: await openPostgres({ url, ...limits }), quarantined: undefined }
  }
  const path = scheme === 'sqlite' ? url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '') : url
  if (path === '' || (scheme !== undefined && scheme !== 'sqlite')) throw unknownUrl()
  const { openSqlite } = await import('./sqlite/engine.ts')
  return await openSqlite({ path, ...(waitMs === undefined ? {} : { waitMs }) })
}

async function healthOf(engine: Engine): Promise<StoreHealth> {
  const begun = performance.now()
  const version = await engine.version()
  return { kind: engine.kind, version, schema: currentSchema, latencyMs: performance.now() - begun }
}

const unknownUrl = (): GloveboxError =>
  new GloveboxError('INVALID_SETTINGS', 'Cannot open the database: its URL is of no kind that is known', {
    hint: 'Write postgres://user@host/name, or sqlite:/path/to/file.db.',
  })

// The store: what the server must find again by query, on SQLite or PostgreSQL. It is the only room with SQL. It promises that
// a write is there, wholly, once it was answered; that every call ends within a bounded time; and that nothing is repeated
// which may have happened. It must not know what an exec, a run or a token is for, nor where the files behind them lie.
import type { StoreHealth } from '../contract/store-health.ts'
import type { Store } from '../contract/store.ts'
import type { Engine } from './engine.ts'
import { createExecTable } from './execs.ts'
import { createIdempotencyTable } from './idempotency.ts'
import { migrate, schemaOf } from './migrations/migrate.ts'
import { createOwnerTable } from './owners.ts'
import { createLeases } from './leases.ts'
import { createRunTable } from './runs.ts'
import { keepServerKey } from './server-key.ts'
import type { OnDamage } from './sqlite/engine.ts'
import { createTokenTable } from './tokens.ts'
import { isPostgres, schemeOf, unknownUrl } from './url.ts'

export interface StoreOptions {
  /** `postgres://…`, `sqlite:<host path>`, or the host path of a SQLite file that is ours by its place. */
  readonly url: string
  /** A damaged SQLite file is put aside, and an empty one begins: for whoever then makes the index anew. Default: it is refused. */
  readonly onDamage?: OnDamage
  /** As long as a call waits for others that hold a SQLite file. */
  readonly waitMs?: number
  /** PostgreSQL: bounds of connecting and of one query. */
  readonly connectMs?: number
  readonly queryMs?: number
}

export async function openStore(options: StoreOptions): Promise<Store> {
  const { engine, quarantined, unindexedSince, indexed } = await openEngine(options)
  try {
    const { installationId } = await migrate(engine)
    return {
      installationId,
      quarantined,
      unindexedSince,
      indexed,
      execs: createExecTable(engine),
      owners: createOwnerTable(engine),
      tokens: createTokenTable(engine),
      idempotency: createIdempotencyTable(engine),
      runs: createRunTable(engine),
      openLeases: engine.kind === 'postgres' ? (leaseOptions) => createLeases(engine, leaseOptions) : undefined,
      serverKey: (offer) => keepServerKey(engine, offer),
      health: () => healthOf(engine),
      close: () => engine.close(),
    }
  } catch (error) {
    await engine.close()
    throw error
  }
}

type OpenedEngine = Pick<Store, 'quarantined' | 'unindexedSince' | 'indexed'> & { readonly engine: Engine }

export async function openEngine({
  url,
  onDamage = 'refuse',
  waitMs,
  connectMs,
  queryMs,
}: StoreOptions): Promise<OpenedEngine> {
  if (isPostgres(url)) {
    const { openPostgres } = await import('./postgres/engine.ts')
    const limits = { ...(connectMs === undefined ? {} : { connectMs }), ...(queryMs === undefined ? {} : { queryMs }) }
    const engine = await openPostgres({ url, ...limits })
    return { engine, quarantined: undefined, unindexedSince: undefined, indexed: () => {} }
  }
  const scheme = schemeOf(url)
  const path = scheme === 'sqlite' ? url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '') : url
  if (path === '' || (scheme !== undefined && scheme !== 'sqlite')) throw unknownUrl()
  const { openSqlite } = await import('./sqlite/engine.ts')
  const origin = scheme === undefined ? 'own' : 'named'
  return await openSqlite({ path, origin, onDamage, ...(waitMs === undefined ? {} : { waitMs }) })
}

async function healthOf(engine: Engine): Promise<StoreHealth> {
  const begun = performance.now()
  const version = await engine.version()
  const schema = await engine.read(schemaOf)
  return { kind: engine.kind, version, schema, latencyMs: performance.now() - begun }
}

// PostgreSQL: several servers may share one. What breaks is tried once more on a fresh connection, and only when the first
// attempt is known to have changed nothing; a server that hangs or is gone is answered for within seconds.
import { GloveboxError } from '../../errors/error.ts'
import type { Engine, Work } from '../engine.ts'
import { createCircuit } from './circuit.ts'
import { openConnections, type ConnectionLimits } from './connections.ts'
import { asStoreError, isUnreachable, isWorthOneRetry, readOnly } from './faults.ts'
import { settle, transact, type Outcome } from './transactions.ts'

export interface PostgresOptions extends Partial<ConnectionLimits> {
  readonly url: string
}

const defaults: ConnectionLimits = { connectMs: 3_000, queryMs: 5_000, connections: 10 }

/** Building an index over years of execs. A server that hangs is found out by the call before it. */
const changeMs = 10 * 60_000

/** `pg_current_xact_id` and `pg_xact_status` on `xid8`. */
const oldestEngine = 13

export async function openPostgres({ url, ...limits }: PostgresOptions): Promise<Engine> {
  const connections = openConnections(url, { ...defaults, ...limits })
  const patient = openConnections(url, { ...defaults, ...limits, queryMs: changeMs })
  const circuit = createCircuit({ isUnreachable })
  let closed: Promise<void> | undefined

  const attempt = async <T>(call: (fresh: boolean) => Promise<T>): Promise<T> => {
    try {
      return await circuit.pass(async () => {
        try {
          return await call(false)
        } catch (error) {
          if (!isWorthOneRetry(error)) throw error
          return await call(true)
        }
      })
    } catch (error) {
      throw asStoreError(error)
    }
  }

  const settled = async <T>(outcome: Outcome<T>): Promise<T> => {
    if ('value' in outcome) return outcome.value
    if (await settle(outcome.doubt, connections)) return outcome.doubt.value
    throw outcome.doubt.error
  }

  const engine: Engine = {
    kind: 'postgres',
    read: <T>(work: Work<T>) => attempt((fresh) => connections.use({ fresh }, ({ database }) => work(database))),
    write: (work, options = {}) =>
      attempt(async (fresh) => {
        return await settled(await connections.use({ fresh }, (connection) => transact(connection, work, options)))
      }),
    change: (work) =>
      attempt(async () => settled(await patient.use({ fresh: true }, (connection) => transact(connection, work, {})))),
    version: () =>
      attempt((fresh) =>
        connections.use({ fresh }, async ({ client }) => {
          const { rows } = await client.query<{ readonly version: string; readonly read_only: string }>(
            `select current_setting('server_version') as version, current_setting('transaction_read_only') as read_only`,
          )
          if (rows[0]?.read_only !== 'off') throw readOnly()
          return rows[0].version
        }),
      ),
    close: () => (closed ??= connections.close()),
  }
  try {
    refuseOldEngine(await engine.version())
  } catch (error) {
    await engine.close()
    throw error
  }
  return engine
}

function refuseOldEngine(version: string): void {
  if (Number.parseInt(version, 10) >= oldestEngine) return
  throw new GloveboxError(
    'STORE_INCOMPATIBLE',
    `Cannot open the database: PostgreSQL ${version} is older than ${oldestEngine}`,
    { hint: `Use PostgreSQL ${oldestEngine} or newer.` },
  )
}

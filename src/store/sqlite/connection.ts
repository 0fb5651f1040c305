// One connection to one SQLite file. Its calls are synchronous: nothing else happens in this process between two of them,
// and a wait for another process's lock stops everything here, so such waits are short and repeated by whoever can sleep.
import { DatabaseSync } from '@photostructure/sqlite'
import { GloveboxError } from '../../errors/error.ts'
import type { Answer } from '../dialect.ts'

export interface Connection {
  run(text: string, parameters: readonly unknown[]): Answer
  exec(text: string): void
  readonly inTransaction: boolean
  close(): void
}

/** 3.51.3 mends a fault by which a checkpoint could lose committed transactions of a WAL. */
const oldestEngine = [3, 51, 3] as const

/** As long as the whole process may stand still for somebody else's lock. */
const busyTimeoutMs = 20

const rememberedStatements = 200

interface Prepared {
  readonly statement: ReturnType<InstanceType<typeof DatabaseSync>['prepare']>
  readonly answersRows: boolean
}

export function openConnection(path: string, options: { readonly readOnly: boolean }): Connection {
  const database = new DatabaseSync(path, {
    readOnly: options.readOnly,
    timeout: busyTimeoutMs,
    allowExtension: false,
    defensive: true,
  })
  const statements = new Map<string, Prepared>()
  const prepare = (text: string): Prepared => {
    const known = statements.get(text)
    if (known !== undefined) return known
    // Lists of any length make texts of any number.
    if (statements.size >= rememberedStatements) statements.clear()
    const statement = database.prepare(text)
    const prepared = { statement, answersRows: statement.columns().length > 0 }
    statements.set(text, prepared)
    return prepared
  }
  return {
    run(text, parameters) {
      const { statement, answersRows } = prepare(text)
      if (!answersRows) return { rows: [], affected: statement.run(...parameters).changes }
      const rows = statement.all(...parameters) as readonly unknown[]
      return { rows, affected: rows.length }
    },
    exec: (text) => database.exec(text),
    get inTransaction() {
      return database.isTransaction
    },
    close: () => database.close(),
  }
}

export const engineVersion = (connection: Connection): string =>
  (connection.run('select sqlite_version() as version', []).rows[0] as { version: string }).version

export function refuseOldEngine(version: string): void {
  const parts = version.split('.').map(Number)
  const different = oldestEngine.findIndex((part, index) => parts[index] !== part)
  if (different === -1 || (parts[different] ?? 0) > (oldestEngine[different] ?? 0)) return
  throw new GloveboxError(
    'STORE_INCOMPATIBLE',
    `Cannot open the database: SQLite ${version} is older than ${oldestEngine.join('.')}, and can lose what it committed`,
    { hint: 'Install the version of @photostructure/sqlite that Glovebox names.' },
  )
}

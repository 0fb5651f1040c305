// Where a server keeps things: its database in the state home, and what callers make (projects, runs) in the data
// home. Neither lies in a sandbox's reach but for the directories that are mounted one by one.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import type { Store } from '../../contract/store.ts'
import { GloveboxError } from '../../errors/error.ts'
import { makeDirectories } from '../../paths/make-directories.ts'
import { isPostgres, schemeOf, unknownUrl } from '../../store/url.ts'

type Environment = Readonly<Record<string, string | undefined>>

export function dataHome(given: string | undefined, environment: Environment = process.env): HostPath {
  const share = environment['XDG_DATA_HOME'] || join(homedir(), '.local', 'share')
  const path = resolve(given ?? (environment['GLOVEBOX_DATA_DIR'] || join(share, 'glovebox'))) as HostPath
  try {
    makeDirectories(path, 0o700)
  } catch (error) {
    throw new GloveboxError('NOT_PERMITTED', 'Cannot keep data: its directory cannot be made', {
      hint: 'Name one that you can write with --data, or set GLOVEBOX_DATA_DIR.',
      operatorDetail: `${path}: ${error instanceof Error ? error.message : String(error)}`,
    })
  }
  return path
}

/** PostgreSQL, or a file, by DATABASE_URL; else a file of the state home. */
export function databaseUrl(state: HostPath, environment: Environment = process.env): string {
  const named = environment['DATABASE_URL']
  if (!named) return join(state, 'glovebox.db')
  // A plain path would be taken for a file of our own, to be put aside where it is not a database.
  if (schemeOf(named) === undefined) throw unknownUrl()
  return named
}

/** Whether leases lie in a database that servers of several hosts may share. */
export const hasSharedDatabase = (environment: Environment = process.env): boolean =>
  isPostgres(environment['DATABASE_URL'] ?? '')

const keyBytes = 32

/**
 * What cursors are signed with. Servers that answer for each other need the same one, so it is kept in their database, unless
 * GLOVEBOX_SERVER_KEY_FILE names a file that each of them has. One that a server of before made for itself is offered to the database first,
 * so that cursors stay good.
 */
export async function serverKey(
  state: HostPath,
  store: Pick<Store, 'serverKey'>,
  environment: Environment = process.env,
): Promise<Uint8Array> {
  const named = environment['GLOVEBOX_SERVER_KEY_FILE']
  if (named) return readKey(named)
  const before = join(state, 'keys', 'server.key')
  return await store.serverKey(() => (existsSync(before) ? readKey(before) : randomBytes(keyBytes)))
}

function readKey(path: string): Uint8Array {
  try {
    const key = readFileSync(path)
    if (key.length < keyBytes || (statSync(path).mode & 0o077) !== 0)
      throw new Error(`${path}: short, or readable by others`)
    return key
  } catch (error) {
    throw new GloveboxError(
      'INVALID_SETTINGS',
      "Cannot start the server: its key cannot be read, or is not its owner's alone",
      {
        hint: `Give it mode 600 and at least ${keyBytes} random bytes, or take it away: unless GLOVEBOX_SERVER_KEY_FILE names it, one is made in the database.`,
        operatorDetail: error instanceof Error ? error.message : String(error),
      },
    )
  }
}

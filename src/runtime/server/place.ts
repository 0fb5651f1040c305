// Where a server keeps things: its database and keys in the state home, and what callers make (projects, runs) in the data
// home. Neither lies in a sandbox's reach but for the directories that are mounted one by one.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { makeDirectories } from '../../paths/make-directories.ts'
import { isErrno } from '../../paths/refusal.ts'
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
 * What cursors are signed with. Servers that answer for each other need the same one: GLOVEBOX_SERVER_KEY_FILE.
 * Made at the first start, readable by its owner alone.
 */
export function serverKey(state: HostPath, environment: Environment = process.env): Uint8Array {
  const named = environment['GLOVEBOX_SERVER_KEY_FILE']
  const path = named || join(state, 'keys', 'server.key')
  if (!named) makeKey(path)
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
        hint: `Give it mode 600 and at least ${keyBytes} random bytes, or take it away: it is made anew unless GLOVEBOX_SERVER_KEY_FILE names it.`,
        operatorDetail: error instanceof Error ? error.message : String(error),
      },
    )
  }
}

/** Whole or not at all: it is given its name when it is on disk, and only where there is none. */
function makeKey(path: string): void {
  if (existsSync(path)) return
  const directory = join(path, '..')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomBytes(12).toString('hex')}.tmp`
  try {
    const fd = openSync(temporary, 'wx', 0o600)
    try {
      writeSync(fd, randomBytes(keyBytes))
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    // Of two first starts at once, both read the key of the one that was quicker.
    linkSync(temporary, path)
    syncDirectory(directory)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

function syncDirectory(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

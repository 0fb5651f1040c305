// Where a server keeps things: its database and keys in the state home, and what callers make (projects, runs) in the data
// home. Neither lies in a sandbox's reach but for the directories that are mounted one by one.
import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeSync, fsyncSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'

type Environment = Readonly<Record<string, string | undefined>>

export function dataHome(given: string | undefined, environment: Environment = process.env): HostPath {
  const share = environment['XDG_DATA_HOME'] || join(homedir(), '.local', 'share')
  const path = resolve(given ?? (environment['GLOVEBOX_DATA_DIR'] || join(share, 'glovebox'))) as HostPath
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new GloveboxError('NOT_PERMITTED', 'Cannot keep data: its directory cannot be made', {
      hint: 'Name one that you can write with --data, or set GLOVEBOX_DATA_DIR.',
      operatorDetail: `${path}: ${error instanceof Error ? error.message : String(error)}`,
    })
  }
  return path
}

/** PostgreSQL by DATABASE_URL; else a file of the state home. */
export const databaseUrl = (state: HostPath, environment: Environment = process.env): string =>
  environment['DATABASE_URL'] || join(state, 'glovebox.db')

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
        hint: `Give it mode 600 and at least ${keyBytes} random bytes.`,
        operatorDetail: error instanceof Error ? error.message : String(error),
      },
    )
  }
}

function makeKey(path: string): void {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
  try {
    const fd = openSync(path, 'wx', 0o600)
    try {
      writeSync(fd, randomBytes(keyBytes))
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}

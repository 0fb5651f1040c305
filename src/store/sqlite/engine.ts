// SQLite in WAL mode: one connection that writes, in group commits, and one that reads what is committed. Readers never wait
// for the writer. The whole file is checked before it is used; a damaged one is put aside.
import { createHash } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { GuestPath, HostPath } from '../../contract/mount.ts'
import { openLocks } from '../../paths/lock.ts'
import { databaseOver } from '../dialect.ts'
import type { Engine, Work } from '../engine.ts'
import { unavailable } from '../fault.ts'
import { openCommits } from './commits.ts'
import { engineVersion, openConnection, refuseOldEngine, type Connection } from './connection.ts'
import { asStoreError, isBusy, isDamage } from './faults.ts'
import { quarantine } from './quarantine.ts'

export interface SqliteOptions {
  /** Host path of the database file. Its directory must be there. */
  readonly path: string
  /** As long as a call may wait for other processes. */
  readonly waitMs?: number
}

export interface OpenedSqlite {
  readonly engine: Engine
  readonly quarantined: string | undefined
}

const defaultWaitMs = 5_000
const pauseMs = 10

export async function openSqlite({ path: asked, waitMs = defaultWaitMs }: SqliteOptions): Promise<OpenedSqlite> {
  const path = resolve(asked)
  // Of two that start at once on a damaged file, the second must not put the first one's new file aside.
  const locks = openLocks(join(dirname(path), 'locks') as HostPath, { waitMs: waitMs * 2 })
  const key = createHash('sha256').update(`store:${path}`).digest('hex')
  const question = { verb: 'open', path: 'the database' as GuestPath }
  try {
    return await locks.hold([key], question, async () => {
      const first = await openSound(path, waitMs)
      if (first !== undefined) return { engine: engineOver(path, first, waitMs), quarantined: undefined }
      const quarantined = quarantine(path)
      const second = await openSound(path, waitMs)
      if (second === undefined)
        throw unavailable('a new file is damaged too', { hint: 'The operator must look at the disk.' })
      return { engine: engineOver(path, second, waitMs), quarantined }
    })
  } finally {
    locks.close()
  }
}

/** Undefined for a damaged file. */
async function openSound(path: string, waitMs: number): Promise<Connection | undefined> {
  let connection: Connection | undefined
  try {
    // SECURITY: hashes of tokens and the commands of every project lie here; SQLite gives its other files the same mode.
    // test/conformance/store/sqlite: "nobody but the operator can read the database"
    closeSync(openSync(path, 'a', 0o600))
    const opened = (connection = openConnection(path, { readOnly: false }))
    refuseOldEngine(engineVersion(opened))
    const findings = await patiently(waitMs, () => {
      opened.run('pragma journal_mode = wal', [])
      return opened.run('pragma quick_check(1)', []).rows as readonly { readonly quick_check: string }[]
    })
    if (findings[0]?.quick_check === 'ok') return connection
  } catch (error) {
    connection?.close()
    if (isDamage(error)) return undefined
    throw asStoreError(error)
  }
  connection.close()
  return undefined
}

function engineOver(path: string, writer: Connection, waitMs: number): Engine {
  const reader = openConnection(path, { readOnly: true })
  const readable = databaseOver('sqlite', async (text, parameters) => reader.run(text, parameters))
  const writable = databaseOver('sqlite', async (text, parameters) => writer.run(text, parameters))
  const commits = openCommits(writer, writable, { waitMs })
  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await commits.drain()
    reader.close()
    try {
      // The last to close would do it, but the library ends a connection only when its statements are collected as garbage.
      writer.run('pragma wal_checkpoint(truncate)', [])
    } catch {
      // The log stays as it is, and whoever opens the file next reads it.
    }
    writer.close()
  }
  const refuseClosed = (): void => {
    if (closed !== undefined) throw unavailable('it was closed', { hint: 'The server is stopping.' })
  }
  return {
    kind: 'sqlite',
    async read<T>(work: Work<T>) {
      refuseClosed()
      try {
        return await patiently(waitMs, () => work(readable))
      } catch (error) {
        throw asStoreError(error)
      }
    },
    async write(work, options) {
      refuseClosed()
      return await commits.write(work, options)
    },
    version: async () => engineVersion(reader),
    close: () => (closed ??= close()),
  }
}

/** Asks again while somebody else holds the file, but not for ever. */
async function patiently<T>(waitMs: number, ask: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
      await delay(pauseMs)
    }
  }
}

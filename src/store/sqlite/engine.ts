// SQLite in WAL mode: one connection that writes, in group commits, and one that reads what is committed. Readers never wait
// for the writer. The whole file is checked before it is used; a damaged one is refused, or put aside for whoever makes the index anew.
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
import { asStoreError, damaged, isBusy, isDamage } from './faults.ts'
import { refuseForeignFile, type Origin } from './file.ts'
import { watchPlace } from './in-place.ts'
import { quarantine, takeNoteAway, unindexedSince } from './quarantine.ts'

export type OnDamage = 'quarantine' | 'refuse'

export interface SqliteOptions {
  /** Host path of the database file. Its directory must be there. */
  readonly path: string
  readonly origin: Origin
  readonly onDamage: OnDamage
  /** As long as a call may wait for other processes. */
  readonly waitMs?: number
}

export interface OpenedSqlite {
  readonly engine: Engine
  readonly quarantined: string | undefined
  readonly unindexedSince: string | undefined
  /** The index was made anew. */
  readonly indexed: () => void
}

const defaultWaitMs = 5_000
const pauseMs = 10

export async function openSqlite(options: SqliteOptions): Promise<OpenedSqlite> {
  const { origin, onDamage, waitMs = defaultWaitMs } = options
  const path = resolve(options.path)
  try {
    // Locks lie beside the file: not even they are made beside one that is not ours.
    refuseForeignFile(path, origin)
    return await openAlone(path, { onDamage, waitMs })
  } catch (error) {
    throw asStoreError(error)
  }
}

async function openAlone(
  path: string,
  { onDamage, waitMs }: { readonly onDamage: OnDamage; readonly waitMs: number },
): Promise<OpenedSqlite> {
  // Of two that start at once on a damaged file, the second must not put the first one's new file aside.
  const locks = openLocks(join(dirname(path), 'locks') as HostPath, { waitMs: waitMs * 2 })
  const key = createHash('sha256').update(`store:${path}`).digest('hex')
  const question = { verb: 'open', path: 'the database' as GuestPath }
  try {
    return await locks.hold([key], question, async () => {
      const first = await openSound(path, waitMs)
      if (first !== undefined) return opened(path, { engine: engineOver(path, first, waitMs), quarantined: undefined })
      if (onDamage === 'refuse') throw damaged()
      const quarantined = quarantine(path)
      const second = await openSound(path, waitMs)
      if (second === undefined)
        throw unavailable('a new file is damaged too', { hint: 'The operator must look at the disk.' })
      return opened(path, { engine: engineOver(path, second, waitMs), quarantined })
    })
  } finally {
    locks.close()
  }
}

const opened = (path: string, about: Pick<OpenedSqlite, 'engine' | 'quarantined'>): OpenedSqlite => ({
  ...about,
  unindexedSince: unindexedSince(path),
  indexed: () => takeNoteAway(path),
})

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
  const refuseReplaced = watchPlace(path)
  const commits = openCommits(writer, writable, { waitMs, refuseReplaced })
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
  const read = async <T>(work: () => T | Promise<T>): Promise<T> => {
    refuseClosed()
    try {
      refuseReplaced()
      return await patiently(waitMs, work)
    } catch (error) {
      throw asStoreError(error)
    }
  }
  const engine: Engine = {
    kind: 'sqlite',
    read: <T>(work: Work<T>) => read(() => work(readable)),
    async write(work, options) {
      refuseClosed()
      return await commits.write(work, options)
    },
    change: (work) => engine.write(work),
    version: () =>
      read(() => {
        // What is asked for next is read from the file, and not from what is remembered of it.
        reader.run('pragma shrink_memory', [])
        return engineVersion(reader)
      }),
    close: () => (closed ??= close()),
  }
  return engine
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

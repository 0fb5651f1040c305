// Group commit: writes that come while one is on its way to the disk share the next transaction, so that a sync of the disk is
// paid once for all of them. Each keeps its own savepoint: one that fails takes nothing of its neighbours with it.
import { setTimeout as delay } from 'node:timers/promises'
import type { WriteOptions } from '../../contract/store.ts'
import type { Work } from '../engine.ts'
import { unavailable } from '../fault.ts'
import type { Database } from '../tables.ts'
import type { Connection } from './connection.ts'
import { asStoreError, isBusy } from './faults.ts'
import type { RefuseReplaced } from './in-place.ts'

export interface Commits {
  write<T>(work: Work<T>, options?: WriteOptions): Promise<T>
  /** When all that was asked for is done. */
  drain(): Promise<void>
}

interface Job {
  readonly work: Work<unknown>
  readonly synced: boolean
  readonly deadline: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

const mostAtOnce = 256
const mostWaiting = 10_000
const pauseMs = 10

export interface CommitOptions {
  readonly waitMs: number
  readonly refuseReplaced: RefuseReplaced
}

export function openCommits(connection: Connection, database: Database, options: CommitOptions): Commits {
  const { waitMs, refuseReplaced } = options
  const waiting: Job[] = []
  let working: Promise<void> | undefined

  const takeBatch = (): readonly Job[] | undefined => {
    const batch = waiting.slice(0, mostAtOnce)
    refuseReplaced()
    try {
      // Of a batch that failed and could not be taken back either.
      if (connection.inTransaction) connection.exec('rollback')
      // Not allowed inside a transaction.
      connection.exec(`pragma synchronous = ${batch.some(({ synced }) => synced) ? 'full' : 'normal'}`)
      // A transaction that begins as a reader and then writes can fail at once, without waiting.
      connection.exec('begin immediate')
    } catch (error) {
      if (!isBusy(error)) throw error
      return undefined
    }
    waiting.splice(0, batch.length)
    return batch
  }

  const work = async (): Promise<void> => {
    // Everything that arrived in this turn of the event loop comes along.
    await new Promise<void>((go) => {
      setImmediate(go)
    })
    while (waiting.length > 0) {
      try {
        const batch = takeBatch()
        if (batch !== undefined) {
          await perform(batch, { connection, database, refuseReplaced })
          continue
        }
      } catch (error) {
        for (const job of waiting.splice(0)) job.reject(asStoreError(error))
      }
      giveUpLate(waiting)
      if (waiting.length > 0) await delay(pauseMs)
    }
    working = undefined
  }

  return {
    write: <T>(asked: Work<T>, { durability = 'synced' }: WriteOptions = {}) =>
      new Promise<T>((resolve, reject) => {
        if (waiting.length >= mostWaiting) return reject(tooMany())
        const deadline = performance.now() + waitMs
        const settle = resolve as (value: unknown) => void
        waiting.push({ work: asked, synced: durability === 'synced', deadline, resolve: settle, reject })
        working ??= work()
      }),
    drain: async () => await working,
  }
}

interface Place extends Pick<CommitOptions, 'refuseReplaced'> {
  readonly connection: Connection
  readonly database: Database
}

async function perform(batch: readonly Job[], { connection, database, refuseReplaced }: Place): Promise<void> {
  const done: { readonly job: Job; readonly value: unknown }[] = []
  try {
    for (const job of batch) {
      connection.exec('savepoint job')
      try {
        done.push({ job, value: await job.work(database) })
        connection.exec('release job')
      } catch (error) {
        // A full disk or a fault of reading ends the whole transaction, and not only this part.
        if (!connection.inTransaction) throw error
        connection.exec('rollback to job')
        connection.exec('release job')
        job.reject(asStoreError(error))
      }
    }
    connection.exec('commit')
    refuseReplaced()
  } catch (error) {
    for (const job of batch) job.reject(asStoreError(error))
    takeBack(connection)
    return
  }
  for (const { job, value } of done) job.resolve(value)
}

function takeBack(connection: Connection): void {
  try {
    if (connection.inTransaction) connection.exec('rollback')
  } catch {
    // It is tried again before the next batch, which is told if that fails, too.
  }
}

function giveUpLate(waiting: Job[]): void {
  const now = performance.now()
  const late = waiting.filter(({ deadline }) => deadline <= now)
  if (late.length === 0) return
  const inTime = waiting.filter(({ deadline }) => deadline > now)
  waiting.splice(0, waiting.length, ...inTime)
  for (const job of late) job.reject(lockedTooLong())
}

const lockedTooLong = (): Error =>
  unavailable('another process holds it locked', { hint: 'Nothing was written. Try again in a moment.' })

const tooMany = (): Error =>
  unavailable('too many writes are waiting already', { hint: 'Nothing was written. Try again in a moment.' })

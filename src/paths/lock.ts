// Writes to one path, one after the other: in this process by a queue, between processes by a lock file.
// The lock is on (parent directory, name) by identity, so two spellings of a path share one lock.
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { openLockFiles, type LockFiles } from './lock-file.ts'
import { isErrno, refusal, type Question } from './refusal.ts'

export interface PathLocks {
  /** Holds all the keys while `work` runs. Waits, but not forever: then BUSY. */
  hold<T>(keys: readonly string[], asked: Question, work: () => Promise<T>): Promise<T>
  close(): void
}

const defaultWaitMs = 30_000
// Whoever writes all the time leaves the lock free for moments only, so another one must look often to find it free.
const longestPauseMs = 5

export const lockKey = (parent: BigIntStats, name: string): string =>
  createHash('sha256').update(`${parent.dev}:${parent.ino}:${name}`).digest('hex')

export function openLocks(directory: HostPath, options: { readonly waitMs?: number } = {}): PathLocks {
  // A sandbox that writes no files from the host never touches the lock directory.
  let opened: LockFiles | undefined
  const takeTurn = queues()

  const holdOne = async <T>(key: string, deadline: number, asked: Question, work: () => Promise<T>): Promise<T> => {
    const leave = await takeTurn(key, deadline)
    if (leave === undefined) throw busy(asked)
    try {
      const files = (opened ??= openLockFiles(directory))
      const name = `${key}.lock`
      for (let pauseMs = 1; !acquired(files, name); pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
        if (performance.now() >= deadline) throw busy(asked)
        await delay(pauseMs)
      }
      try {
        return await work()
      } finally {
        files.release(name)
      }
    } finally {
      leave()
    }
  }

  return {
    async hold(keys, asked, work) {
      const deadline = performance.now() + (options.waitMs ?? defaultWaitMs)
      // Everybody takes several locks in the same order, so nobody waits in a circle.
      const ordered = [...new Set(keys)].toSorted()
      const nested = ordered.reduceRight((inner, key) => () => holdOne(key, deadline, asked, inner), work)
      return await nested()
    },
    close: () => opened?.close(),
  }
}

/** A fault of the lock directory is the operator's to mend and must not read like one of the guest's path. */
function acquired(files: LockFiles, name: string): boolean {
  try {
    return files.tryAcquire(name)
  } catch (error) {
    if (!isErrno(error)) throw error
    const code = error.code === 'ENOSPC' || error.code === 'EDQUOT' ? 'NO_SPACE' : 'BACKEND_UNAVAILABLE'
    throw new GloveboxError(code, 'Cannot lock a path for writing: the lock directory cannot be used', {
      hint: 'The operator must make the lock directory writable.',
      operatorDetail: error.message,
    })
  }
}

const busy = (asked: Question): Error =>
  refusal('BUSY', asked, 'somebody else is writing to it', { hint: 'Try again in a moment.' })

/** First come, first served. Resolves to `leave`, or to undefined when the deadline came first. */
function queues(): (key: string, deadline: number) => Promise<(() => void) | undefined> {
  const lastOf = new Map<string, Promise<void>>()
  return async (key, deadline) => {
    const before = lastOf.get(key)
    const { promise: mine, resolve: leave } = opening()
    const last = before === undefined ? mine : before.then(() => mine)
    lastOf.set(key, last)
    void last.then(() => lastOf.get(key) === last && lastOf.delete(key))
    if (before === undefined || (await settlesBefore(before, deadline))) return leave
    leave()
    return undefined
  }
}

function opening(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

async function settlesBefore(turn: Promise<void>, deadline: number): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(Math.max(0, deadline - performance.now()), false, { signal: timer.signal }).catch(() => false)
  try {
    return await Promise.race([turn.then(() => true), late])
  } finally {
    timer.abort()
  }
}

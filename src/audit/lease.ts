// One writer at a time per log. The lock is held for as long as a batch takes, not for as long as a process lives, so that
// any number of processes share one log; each reads what the others wrote before it writes.
import { setTimeout as delay } from 'node:timers/promises'
import { namesIfThere } from '../paths/if-there.ts'
import { openLockFiles } from '../paths/lock-file.ts'
import { giveReserve } from './reserve.ts'
import { lockDirectory, type AuditPlace } from './files.ts'
import { busy, isNoSpace } from './refusal.ts'

const lockName = 'writer.lock'
const pauseMs = 2

export interface Leases {
  /** Waits, but not forever: then BUSY. The lock of a process that was killed is taken over. */
  hold<T>(work: () => Promise<T>): Promise<T>
  /** Whether anybody else may be waiting: everybody leaves a card there when they first ask, and takes it away at the end. */
  isShared(): boolean
  close(): void
}

export function openLeases(place: AuditPlace, waitMs: number): Leases {
  const directory = lockDirectory(place)
  const locks = openLockFiles(directory)
  const tryAcquire = (): boolean => {
    try {
      return locks.tryAcquire(lockName)
    } catch (error) {
      if (!isNoSpace(error)) throw error
      // Even a lock takes room, and whoever has begun something must be able to record its end.
      giveReserve(place)
      return locks.tryAcquire(lockName)
    }
  }
  return {
    async hold(work) {
      const deadline = performance.now() + waitMs
      while (!tryAcquire()) {
        if (performance.now() >= deadline) throw busy()
        // Not in step with the others who wait.
        await delay(pauseMs * (0.5 + Math.random()))
      }
      try {
        return await work()
      } finally {
        locks.release(lockName)
      }
    },
    isShared: () => namesIfThere(directory).filter((name) => name !== lockName).length > 1,
    close: () => locks.close(),
  }
}

// One writer at a time per log. The lock is held for as long as a batch takes, not for as long as a process lives, so that
// any number of processes share one log; each reads what the others wrote before it writes.
import { setTimeout as delay } from 'node:timers/promises'
import { namesIfThere } from '../paths/if-there.ts'
import { isNoSpace } from '../paths/kept-space.ts'
import { openLockFiles } from '../paths/lock-file.ts'
import { lockDirectory, type AuditPlace } from './files.ts'
import { busy } from './refusal.ts'
import type { Reserve } from './reserve.ts'

const lockName = 'writer.lock'
const pauseMs = 2

export interface Leases {
  /** Waits, but not forever: then BUSY. The lock of a process that was killed is taken over. */
  hold<T>(work: () => Promise<T>): Promise<T>
  /** Whether anybody else may be waiting: everybody leaves a card there when they first ask, and takes it away at the end. */
  isShared(): boolean
  close(): void
}

export interface LeasesOptions {
  readonly place: AuditPlace
  readonly reserve: Pick<Reserve, 'give'>
  readonly waitMs: number
}

export function openLeases({ place, reserve, waitMs }: LeasesOptions): Leases {
  const directory = lockDirectory(place)
  const locks = openLockFiles(directory)
  const tryAcquire = (): boolean => {
    for (;;) {
      try {
        return locks.tryAcquire(lockName)
      } catch (error) {
        // Even a lock takes room, and whoever has begun something must be able to record its end.
        if (!isNoSpace(error) || !reserve.give(0, lockName)) throw error
      }
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

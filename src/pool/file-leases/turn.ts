// One process at a time in the directory of leases. What is done in a turn is done without waiting for anything, so turns are short, and
// the turn of a process that was killed passes on at once.
import { setTimeout as delay } from 'node:timers/promises'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openLockFiles } from '../../paths/lock-file.ts'
import { isErrno } from '../../paths/refusal.ts'

const lockName = 'leases.lock'
const waitMs = 5_000
const pauseMs = 1

export interface Turn {
  take<T>(work: () => T): Promise<T>
  close(): void
}

export function openTurn(directory: HostPath): Turn {
  const locks = openLockFiles(directory)
  return {
    async take(work) {
      const untilMs = performance.now() + waitMs
      try {
        while (!locks.tryAcquire(lockName)) {
          if (performance.now() >= untilMs) throw stuck()
          // Not in step with the others who wait.
          await delay(pauseMs * (0.5 + Math.random()))
        }
        try {
          return work()
        } finally {
          locks.release(lockName)
        }
      } catch (error) {
        throw isErrno(error) ? unusable(error) : error
      }
    },
    close: () => locks.close(),
  }
}

const stuck = (): GloveboxError =>
  new GloveboxError('STORE_UNAVAILABLE', 'Cannot ask for the lease: another process holds the lock of all leases', {
    hint: 'Try again. Is a process of Glovebox stopped?',
  })

const unusable = (error: Error & { readonly code: string }): GloveboxError => {
  const code = error.code === 'ENOSPC' || error.code === 'EDQUOT' ? 'NO_SPACE' : 'STORE_UNAVAILABLE'
  return new GloveboxError(code, 'Cannot ask for the lease: the directory of leases cannot be used', {
    hint: 'The operator must make the state directory writable.',
    operatorDetail: error.message,
    cause: error,
  })
}

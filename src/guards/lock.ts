// Waits its turn for a lock between processes. The lock of a holder that was killed is taken over at once.
import { setTimeout as delay } from 'node:timers/promises'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { openLockFiles } from '../paths/lock-file.ts'

export interface LockPlace {
  readonly directory: string
  readonly name: string
  readonly waitMs?: number
}

/** Who waits for somebody in the same process waits a turn: what is done under these locks is done at once. */
const turns = 3
const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export async function withLock<T>({ directory, name, waitMs = 10_000 }: LockPlace, work: () => Promise<T>): Promise<T> {
  const locks = openLockFiles(directory as HostPath, { leavesCards: true })
  const until = Date.now() + waitMs
  try {
    for (let round = 0; !locks.tryAcquire(name); round += 1) {
      if (Date.now() > until) throw stillHeld(directory, name)
      await (round < turns ? aTurn() : delay(Math.min(2 ** (round - turns), 20)))
    }
    try {
      return await work()
    } finally {
      locks.release(name)
    }
  } finally {
    locks.close()
  }
}

const stillHeld = (directory: string, name: string): GloveboxError =>
  new GloveboxError('BUSY', 'Cannot use the state directory: another process holds its lock', {
    hint: 'Wait for it to end, and try again.',
    operatorDetail: `${directory}/${name}`,
  })

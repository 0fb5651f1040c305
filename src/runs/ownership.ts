// One process at a time may write to a run. The lock lies in logs/ and is reached through the directory's descriptor, so
// that it stays ours while the directory moves from its stage to its place. A dead owner's lock is taken over.
import { closeSync, constants, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { itself } from '../paths/descriptor.ts'
import { isDead, parseHolder } from '../paths/holder.ts'
import { openLockFiles } from '../paths/lock-file.ts'

const lockName = 'run.lock'

export interface Ownership {
  /** May be called twice. */
  release(): void
}

/** Who holds the run, or held it when it died. For `cancel`, and to tell a crashed run from a living one. */
export function findOwner(directory: string): { readonly pid: number; readonly isAlive: boolean } | undefined {
  const path = join(directory, 'logs', lockName)
  const holder = existsSync(path) ? parseHolder(readFileSync(path, 'utf8')) : undefined
  return holder === undefined ? undefined : { pid: holder.pid, isAlive: !isDead(holder) }
}

/** Refused with BUSY while another process, or another opening in this one, holds the run. */
export function holdRun(directory: string): Ownership {
  const fd = openSync(join(directory, 'logs'), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  const locks = openLockFiles(itself(fd) as HostPath)
  let isHeld = false
  const release = (): void => {
    if (!isHeld) return
    isHeld = false
    locks.release(lockName)
    locks.close()
    closeSync(fd)
  }
  try {
    isHeld = locks.tryAcquire(lockName)
  } catch (error) {
    closeSync(fd)
    throw error
  }
  if (isHeld) return { release }
  locks.close()
  closeSync(fd)
  throw new GloveboxError('BUSY', 'Cannot open the run for writing: another process is at work on it', {
    hint: 'Read it, or wait until the run has ended.',
    operatorDetail: directory,
  })
}

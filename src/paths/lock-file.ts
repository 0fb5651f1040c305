// One lock as a file. It comes into being by link(2) of a complete file, so it is never seen half written.
// A dead holder's lock is taken over under a second lock named after that very holder: whoever has it is
// alone with the stale file, and looks again before replacing it.
import { createHash, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../contract/mount.ts'
import { exists, formatHolder, isDead, parseHolder, thisHolder, type Holder } from './holder.ts'
import { namesIfThere } from './if-there.ts'
import { isErrno } from './refusal.ts'

const cardPrefix = 'holder-'

export interface LockFiles {
  /** True: the lock is ours until `release`. */
  tryAcquire(name: string): boolean
  release(name: string): void
  close(): void
}

export interface LockFilesOptions {
  /** For whoever opens them anew for every turn, in a directory that `sweepLocks` is called for: a sweep reads the card of everybody who
   * lives, and each sandbox has one. */
  readonly leavesCards?: boolean
}

export function openLockFiles(directory: HostPath, { leavesCards = false }: LockFilesOptions = {}): LockFiles {
  let written: string | undefined
  // Written once; every lock of this holder is another name of this file.
  const card = (): string => (written ??= writeCard(thisHolder()))

  const tryAcquire = (name: string): boolean => {
    const file = join(directory, name)
    if (linked(file)) return true
    const seen = holderOf(file)
    return seen !== undefined && isDead(seen) && takeOver(name, file, seen)
  }

  const linked = (file: string): boolean => {
    try {
      return linkedTo(card(), file)
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error
      // The directory was swept away under us, and the card with it.
      written = undefined
      return linkedTo(card(), file)
    }
  }

  const writeCard = (holder: Holder): string => {
    const path = join(directory, `${cardPrefix}${holder.pid}-${holder.nonce}`)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    if (!leavesCards) sweepCards(directory)
    try {
      writeFileSync(path, formatHolder(holder), { mode: 0o600 })
    } catch (error) {
      unlinkIfThere(path)
      throw error
    }
    return path
  }

  const takeOver = (name: string, file: string, stale: Holder): boolean => {
    const right = createHash('sha256').update(`${name}\n${stale.nonce}`).digest('hex') + '.takeover'
    if (!tryAcquire(right)) return false
    try {
      if (holderOf(file)?.nonce !== stale.nonce) return false
      const fresh = `${card()}-${randomBytes(6).toString('hex')}`
      linkSync(card(), fresh)
      renameSync(fresh, file)
      return true
    } finally {
      unlinkIfThere(join(directory, right))
    }
  }

  return {
    tryAcquire,
    release: (name) => unlinkIfThere(join(directory, name)),
    close: () => {
      if (written !== undefined) unlinkIfThere(written)
      written = undefined
    },
  }
}

/** Takes away what holders that were killed have left. A lock is taken over first: only then is it certain whose it is. */
export function sweepLocks(directory: HostPath): void {
  sweepCards(directory)
  const locks = openLockFiles(directory, { leavesCards: true })
  try {
    for (const name of namesIfThere(directory)) {
      const isLock = name.endsWith('.lock') || name.endsWith('.takeover')
      const holder = isLock ? holderOf(join(directory, name)) : undefined
      if (holder !== undefined && isDead(holder) && locks.tryAcquire(name)) locks.release(name)
    }
  } finally {
    locks.close()
  }
}

function linkedTo(card: string, file: string): boolean {
  try {
    linkSync(card, file)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

/** Undefined if there is none any more. A lock that cannot be read was cut short by a power cut: its holder is dead. */
function holderOf(file: string): Holder | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    return parseHolder(text) ?? { nonce: `torn:${text}`, pid: 1, startTime: '', bootId: '', pidNamespace: '' }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

function sweepCards(directory: string): void {
  for (const name of namesIfThere(directory)) {
    if (!name.startsWith(cardPrefix)) continue
    const holder = holderOf(join(directory, name))
    if (holder === undefined) continue
    // A torn card is just being written, or its writer was killed: the pid in its name tells which.
    const isOver = holder.bootId === '' ? !exists(Number.parseInt(name.slice(cardPrefix.length), 10)) : isDead(holder)
    if (isOver) unlinkIfThere(join(directory, name))
  }
}

function unlinkIfThere(file: string): void {
  try {
    unlinkSync(file)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

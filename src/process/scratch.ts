// Directories that belong to a process and are worth nothing without it. Each bears its owner in its name, so that it is
// owned from the moment it exists until it is gone, and the next start can remove those of processes that were killed.
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { removeTreeAtOnce } from '../paths/remove-tree.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from './identity.ts'

/** A name that tells that this process owns what bears it. */
export const ownedName = (name: string): string => `${name}${ownerMark(ownIdentity())}`

export function openScratch(parent: string, name: string): string {
  const directory = join(parent, ownedName(name))
  // Not in one recursive step: Node then tells a disk that is read-only as a directory that is missing.
  if (!existsSync(parent)) makeParent(parent)
  mkdirSync(directory, { mode: 0o755 })
  return directory
}

function makeParent(parent: string): void {
  try {
    mkdirSync(parent, { mode: 0o755 })
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(parent)) throw error
  }
}

export function closeScratch(directory: string): void {
  if (isRemoved(directory)) return
  removeEmptyOnes(directory)
  // Most held no more, and for more Node loads a module first.
  if (!isRemoved(directory)) removeTreeAtOnce(directory)
}

/** Takes no descriptor, unlike the other way: one that is empty can be removed where there is none left. */
function isRemoved(directory: string): boolean {
  try {
    rmdirSync(directory)
    return true
  } catch {
    return false
  }
}

/** One that nobody may look into, as walls are, can be removed all the same; but Node looks into it first, from 24 on. */
function removeEmptyOnes(directory: string): void {
  for (const name of listQuietly(directory)) {
    try {
      rmdirSync(join(directory, name))
    } catch {
      // A file, or not empty: the rest is for whoever removes it whole, and tells why it cannot.
    }
  }
}

/**
 * One whose name tells no owner was not made here, and is left. So is one that cannot be removed: whoever sweeps came for something
 * else, and the others must go.
 */
export function sweepScratch(parent: string): void {
  for (const name of listQuietly(parent)) if (isOrphaned(name)) closeQuietly(join(parent, name))
}

function closeQuietly(directory: string): void {
  try {
    closeScratch(directory)
  } catch {
    // It is tried again by whoever comes next.
  }
}

/** Its name tells an owner, who is no more. */
export function isOrphaned(name: string): boolean {
  const owner = ownerIn(name)
  return owner !== undefined && !isAlive(owner)
}

const ownerMark = ({ pid, startTime, bootId, pidNamespace }: ProcessIdentity): string =>
  `@${pid}.${startTime}.${bootId}.${/\d+/.exec(pidNamespace)?.[0] ?? '0'}`

function ownerIn(name: string): ProcessIdentity | undefined {
  const [, pid, startTime = '', bootId = '', namespace] = /@(\d+)\.(\d+)\.([\da-f-]+)\.(\d+)$/.exec(name) ?? []
  if (pid === undefined) return undefined
  return { pid: Number(pid), startTime, bootId, pidNamespace: `pid:[${namespace}]` }
}

function listQuietly(parent: string): readonly string[] {
  try {
    return readdirSync(parent)
  } catch {
    return []
  }
}

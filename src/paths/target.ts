// The place of one write: parent directory held by descriptor, name, and the lock on both.
import { closeSync } from 'node:fs'
import { isWaypoint, walk, type Arrival, type Reach } from './contain.ts'
import { findInside, type Opened } from './descriptor.ts'
import { makeDirectories } from './directories.ts'
import { linkRefused } from './links.ts'
import { lockKey, type PathLocks } from './lock.ts'
import type { Owner } from './owner.ts'
import { permitWrite } from './permit.ts'
import { refusal, type Question } from './refusal.ts'
import { requireFile } from './regular.ts'

export interface WritableReach extends Reach {
  readonly locks: PathLocks
}

export interface Target {
  readonly parent: Opened
  readonly name: string
  /** For files that are new; one that is replaced keeps its owner. */
  readonly owner: Owner | undefined
  readonly asked: Question
}

export interface TargetOptions {
  readonly parents: 'make' | 'require'
  /** The error if no file is there; without it, a missing file is no error. */
  readonly absent?: Error
}

export async function withTarget<T>(
  reach: WritableReach,
  asked: Question,
  options: TargetOptions,
  work: (target: Target) => Promise<T>,
): Promise<T> {
  const place = walk(reach, { ...asked, followLeaf: true })
  if (isWaypoint(place)) throw refusal('IS_A_DIRECTORY', asked, 'it is a directory')
  try {
    permitWrite(reach, place, asked)
    return await atPlace(reach, place, asked, options, work)
  } finally {
    place.close()
  }
}

async function atPlace<T>(
  reach: WritableReach,
  place: Arrival,
  asked: Question,
  options: TargetOptions,
  work: (target: Target) => Promise<T>,
): Promise<T> {
  const { parent, names } = place
  const name = names.at(-1)
  if (parent === undefined || name === undefined) throw refusal('IS_A_DIRECTORY', asked, 'it is a directory')
  if (place.leaf !== undefined) requireFile(place.leaf.stats, asked)
  if (reach.table.nestedNames(place.path).length > 0) throw refusal('IS_A_DIRECTORY', asked, 'it leads to a mount')
  if (options.absent !== undefined && place.leaf === undefined) throw options.absent
  if (options.parents === 'require' && names.length > 1) {
    throw refusal('NOT_FOUND', asked, 'the directory for it does not exist', { hint: 'Make the directory first.' })
  }
  const { owner } = reach.root(place.mount)
  const { directory } = await makeDirectories(parent, names.slice(0, -1), { owner, asked })
  try {
    const target = { parent: directory, name, owner, asked }
    return await reach.locks.hold([lockKey(directory.stats, name)], asked, () => work(target))
  } finally {
    if (directory !== parent) closeSync(directory.fd)
  }
}

/** What has the name now that the lock is held. The caller closes it. */
export function currentFile(target: Target): Opened | undefined {
  const found = findInside(target.parent.fd, target.name)
  if (found === undefined) return undefined
  try {
    if (found.stats.isSymbolicLink()) throw linkRefused(target.asked, 'it turned into a link meanwhile')
    requireFile(found.stats, target.asked)
    requireWritable(found, target.asked)
    return found
  } catch (error) {
    closeSync(found.fd)
    throw error
  }
}

/** Replacing needs no right on the file itself, so its read-only bits are respected here. */
function requireWritable(file: Opened, asked: Question): void {
  if ((file.stats.mode & 0o222n) === 0n) {
    throw refusal('READ_ONLY', asked, 'the file is read-only', { hint: 'Make it writable first (chmod u+w).' })
  }
}

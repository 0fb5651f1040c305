// Making directories below one that is open. Each is taken hold of as soon as it exists, and the next is
// made inside what is held.
import { chmodSync, chownSync, closeSync, mkdirSync, opendirSync } from 'node:fs'
import { syncFile } from './content.ts'
import { findInside, inside, itself, reopenDirectory, type Opened } from './descriptor.ts'
import { linkRefused } from './links.ts'
import type { Owner } from './owner.ts'
import { isErrno, refusal, type Question } from './refusal.ts'

/** Of what a guest is to use. */
export const directoryMode = 0o755

/** The last directory of `names`, open; the caller closes it. `start` stays open. */
export async function makeDirectories(
  start: Opened,
  names: readonly string[],
  options: { readonly owner: Owner | undefined; readonly asked: Question },
): Promise<{ readonly directory: Opened; readonly created: boolean }> {
  let directory = start
  let created = false
  try {
    for (const name of names) {
      created = makeOne(directory, name)
      const next = enter(directory, name, options.asked)
      const before = directory
      directory = next
      try {
        if (created) settle(next, options.owner)
        if (created) await syncDirectory(before)
      } finally {
        if (before !== start) closeSync(before.fd)
      }
    }
    return { directory, created }
  } catch (error) {
    if (directory !== start) closeSync(directory.fd)
    throw error
  }
}

function makeOne(parent: Opened, name: string): boolean {
  try {
    mkdirSync(inside(parent.fd, name), directoryMode)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

function enter(parent: Opened, name: string, asked: Question): Opened {
  const found = findInside(parent.fd, name)
  if (found === undefined) throw refusal('BUSY', asked, 'a directory on the way vanished')
  try {
    if (found.stats.isSymbolicLink()) throw linkRefused(asked, 'a directory on the way turned into a link')
    if (!found.stats.isDirectory()) throw refusal('NOT_A_DIRECTORY', asked, 'a part of the path is not a directory')
    return found
  } catch (error) {
    closeSync(found.fd)
    throw error
  }
}

// SECURITY: between making and taking hold the guest may rename another directory to this name. Only an
// empty one of our own is given away, so nobody gains what root had put into the mount.
// test/attacks/host-paths: "a directory that is swapped in is not given away"
export function settle(made: Opened, owner: Owner | undefined): void {
  const ours = made.stats.isDirectory() && Number(made.stats.uid) === process.geteuid?.()
  if (!ours || !isEmpty(made)) return
  if (owner !== undefined) chownSync(itself(made.fd), owner.uid, owner.gid)
  // The operator's umask is for the operator's files; the guest must be able to use these.
  chmodSync(itself(made.fd), directoryMode)
}

function isEmpty(directory: Opened): boolean {
  const listing = opendirSync(itself(directory.fd), { bufferSize: 1 })
  try {
    return listing.readSync() === null
  } finally {
    listing.closeSync()
  }
}

/** A new name is durable only when its directory has been synced. */
export async function syncDirectory(directory: Opened): Promise<void> {
  const fd = reopenDirectory(directory.fd)
  try {
    await syncFile(fd)
  } finally {
    closeSync(fd)
  }
}

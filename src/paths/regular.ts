// From a place to an open regular file. What is opened is the inode that was examined, not its name.
import { randomBytes } from 'node:crypto'
import { closeSync, constants } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { isWaypoint, walk, type Arrival, type Reach } from './contain.ts'
import { reopen, sameInode, statsInside, statsOf, type Opened } from './descriptor.ts'
import { permitRead } from './permit.ts'
import { refusal, type Question } from './refusal.ts'

// Somebody who replaces the file again and again can make every look come too late.
const maxLooks = 40

export function requireFile(stats: BigIntStats, asked: Question): void {
  if (stats.isFile()) return
  if (stats.isDirectory()) throw refusal('IS_A_DIRECTORY', asked, 'it is a directory')
  throw refusal('NOT_A_FILE', asked, 'it is not a regular file')
}

export const severalNames = (asked: Question): Error =>
  refusal('LINK_REFUSED', asked, 'the file has several names (hard links)', {
    hint: 'Another name may lie outside the sandbox. Read it with a command inside, for example cat.',
  })

/** The open file, or undefined if its name went to something else meanwhile. */
// SECURITY: a second name may belong to a file of the host. A guest that unlinks its own name at the right
// moment leaves a count of one, so count, name and change time must agree.
// test/attacks/host-paths: "a second name outside, linked and unlinked all the time, is not read"
export function openSoleName(
  parent: Opened,
  name: string,
  leaf: Opened,
  flags: number,
  asked: Question,
): Opened | undefined {
  requireFile(leaf.stats, asked)
  const fd = reopen(leaf.fd, flags)
  try {
    const stats = statsOf(fd)
    if (stats.nlink > 1n) throw severalNames(asked)
    const isSoleName = (): boolean => {
      const named = statsInside(parent.fd, name)
      const unchanged = named !== undefined && sameInode(named, stats) && named.ctimeNs === stats.ctimeNs
      return unchanged && stats.nlink === 1n && named.nlink === 1n
    }
    // For a moment of an unlink the count is one already and the name still there; it is over when the directory is free.
    if (isSoleName()) {
      waitForDirectory(parent.fd)
      if (isSoleName()) return { fd, stats }
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
  closeSync(fd)
  return undefined
}

/** A name that nobody has asked for before is looked up under the directory's lock, which every change of names holds. */
function waitForDirectory(fd: number): void {
  statsInside(fd, `.glovebox-look-${randomBytes(12).toString('hex')}`)
}

/** Walks to a file that the caller may read, and opens it. The caller closes the descriptor. */
export function openForRead(reach: Reach, asked: Question): Opened {
  for (let look = 0; look < maxLooks; look++) {
    const place = walk(reach, { ...asked, followLeaf: true })
    if (isWaypoint(place)) throw refusal('IS_A_DIRECTORY', asked, 'it is a directory')
    try {
      const opened = openPlace(place, asked)
      if (opened !== undefined) return opened
    } finally {
      place.close()
    }
  }
  throw refusal('BUSY', asked, 'the file is being replaced all the time')
}

function openPlace(place: Arrival, asked: Question): Opened | undefined {
  permitRead(place, asked)
  if (place.parent === undefined) throw refusal('IS_A_DIRECTORY', asked, 'it is a directory')
  if (place.leaf === undefined) throw refusal('NOT_FOUND', asked, 'nothing is there')
  return openSoleName(place.parent, place.names[0] as string, place.leaf, constants.O_RDONLY, asked)
}

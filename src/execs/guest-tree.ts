// The files that a guest left, walked by descriptor: the guest owns the tree, and while it lives it may swap any part of a
// path for a link. Bounded in count, depth and the length of all paths. It tells what it met and decides nothing.
import { closeSync, opendirSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { findInside, itself, openRoot, type Opened } from '../paths/descriptor.ts'
import { openUp } from '../paths/owner.ts'
import { isErrno } from '../paths/refusal.ts'

export const mostEntries = 100_000
export const mostDepth = 128
/**
 * Of all paths, and of what links lead to, in bytes. A directory of the greatest depth has a path of 32 KiB, and each name in it another:
 * a list of them would be longer than any text can be, and no end could be written.
 */
const mostText = 16 * 1024 * 1024

export interface Met {
  readonly parent: Opened
  readonly name: Buffer
  /** From the tree's root. */
  readonly path: Buffer
  readonly found: Opened
}

/** Why a walk is not whole. `entries`: there are more than can be listed, or their paths are longer. */
export type WalkGap = 'entries' | 'depth' | 'unreadable'

export interface Walk {
  /** Parents before what is in them, names in the order of their bytes. What is handed over is closed with the next step. */
  entries(): AsyncGenerator<Met>
  readonly gaps: ReadonlySet<WalkGap>
}

export interface WalkOptions {
  /** A directory that the guest closed to whoever started us is opened: what is in it must be seen. */
  readonly opensUp?: boolean
}

export function walkGuestTree(root: string, { opensUp = false }: WalkOptions = {}): Walk {
  const gaps = new Set<WalkGap>()
  // Of what is still to be met: names wait in memory while what is below one of them is walked.
  let names = mostEntries
  let text = mostText
  let count = 0

  async function* below(directory: Opened, path: Buffer, depth: number): AsyncGenerator<Met> {
    if (opensUp) openUp(directory)
    const listed = namesIn(directory, names, gaps)
    names -= listed.length
    for (const name of listed) {
      if (++count % 64 === 0) await turn()
      const found = findReadable(directory, name, gaps)
      if (found === undefined) continue
      const at = path.length === 0 ? name : Buffer.concat([path, Buffer.from('/'), name])
      try {
        text -= at.length + (found.stats.isSymbolicLink() ? Number(found.stats.size) : 0)
        if (text < 0) return void gaps.add('entries')
        yield { parent: directory, name, path: at, found }
        if (!found.stats.isDirectory()) continue
        if (depth >= mostDepth) gaps.add('depth')
        else yield* below(found, at, depth + 1)
      } finally {
        closeSync(found.fd)
      }
    }
  }

  return {
    gaps,
    async *entries() {
      const top = openRoot(root)
      try {
        yield* below(top, Buffer.alloc(0), 1)
      } finally {
        closeSync(top.fd)
      }
    },
  }
}

function namesIn(directory: Opened, most: number, gaps: Set<WalkGap>): readonly Buffer[] {
  const names: Buffer[] = []
  try {
    const listing = opendirSync(itself(directory.fd), { encoding: 'latin1' })
    try {
      for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
        if (names.length >= most) {
          gaps.add('entries')
          break
        }
        names.push(Buffer.from(entry.name, 'latin1'))
      }
    } finally {
      listing.closeSync()
    }
  } catch (error) {
    noteUnreadable(error, gaps)
  }
  return names.toSorted((a, b) => Buffer.compare(a, b))
}

/** In a directory that may be listed and not entered, names are all that there is. */
function findReadable(directory: Opened, name: Buffer, gaps: Set<WalkGap>): Opened | undefined {
  try {
    return findInside(directory.fd, name)
  } catch (error) {
    noteUnreadable(error, gaps)
    return undefined
  }
}

/** What modes or the disk keep from us stays so, and is no fault of the walk. Where we have no descriptor left, it is. */
function noteUnreadable(error: unknown, gaps: Set<WalkGap>): void {
  if (!isErrno(error, 'EACCES', 'EPERM', 'EIO')) throw error
  gaps.add('unreadable')
}

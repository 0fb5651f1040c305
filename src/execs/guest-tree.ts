// The files that a guest left, walked by descriptor: the guest owns the tree, and while it lives it may swap any part of a
// path for a link. Bounded in count and depth. It tells what it met and decides nothing.
import { closeSync, opendirSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { findInside, itself, openRoot, type Opened } from '../paths/descriptor.ts'
import { isErrno } from '../paths/refusal.ts'

export const mostEntries = 100_000
export const mostDepth = 128

export interface Met {
  readonly parent: Opened
  readonly name: Buffer
  /** From the tree's root. */
  readonly path: Buffer
  readonly found: Opened
}

/** Why a walk is not whole. */
export type WalkGap = 'entries' | 'depth' | 'unreadable'

export interface Walk {
  /** Parents before what is in them, names in the order of their bytes. What is handed over is closed with the next step. */
  entries(): AsyncGenerator<Met>
  readonly gaps: ReadonlySet<WalkGap>
}

export function walkGuestTree(root: string): Walk {
  const gaps = new Set<WalkGap>()
  let count = 0

  async function* below(directory: Opened, path: Buffer, depth: number): AsyncGenerator<Met> {
    for (const name of namesIn(directory, gaps)) {
      if (count++ >= mostEntries) return void gaps.add('entries')
      if (count % 64 === 0) await turn()
      const found = findInside(directory.fd, name)
      if (found === undefined) continue
      const at = path.length === 0 ? name : Buffer.concat([path, Buffer.from('/'), name])
      try {
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

function namesIn(directory: Opened, gaps: Set<WalkGap>): readonly Buffer[] {
  const names: Buffer[] = []
  try {
    const listing = opendirSync(itself(directory.fd), { encoding: 'latin1' })
    try {
      for (let entry = listing.readSync(); entry !== null && names.length <= mostEntries; entry = listing.readSync())
        names.push(Buffer.from(entry.name, 'latin1'))
    } finally {
      listing.closeSync()
    }
  } catch (error) {
    if (!isErrno(error)) throw error
    gaps.add('unreadable')
  }
  return names.toSorted((a, b) => Buffer.compare(a, b))
}

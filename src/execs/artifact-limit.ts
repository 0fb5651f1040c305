// The limit on what a guest leaves below its artifacts: looked at while the command runs, and held at its end. No
// mechanism below enforces it, so a command that writes on is ended, and what is beyond the limit is taken away.
import { closeSync, unlinkSync } from 'node:fs'
import type { GuestPath } from '../contract/mount.ts'
import { inside, openRoot } from '../paths/descriptor.ts'
import { nothingHeld } from '../paths/held.ts'
import { isErrno } from '../paths/refusal.ts'
import { emptyDirectory } from '../paths/tree.ts'
import { walkGuestTree, type Met } from './guest-tree.ts'
import { guestArtifacts } from './layout.ts'

const firstLookMs = 100
const pauseMs = 250
/** A large tree takes long to look at; it is looked at for no more than this share of the time. */
const restPerLook = 20

/** Apparent sizes: what a download of it all would be. More entries than can be listed count as too much as well. */
export async function isOverLimit(root: string, limitBytes: number): Promise<boolean> {
  const walk = walkGuestTree(root, { opensUp: true })
  let total = 0
  for await (const { found } of walk.entries()) {
    if (found.stats.isFile()) total += Number(found.stats.size)
    if (total > limitBytes) return true
  }
  return walk.gaps.has('entries') || walk.gaps.has('depth')
}

export interface LimitWatch {
  stop(): Promise<void>
}

export function watchLimit(root: string, limitBytes: number, onOver: () => void): LimitWatch {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()
  const look = async (): Promise<void> => {
    const begun = performance.now()
    // A tree that vanishes under the walk is looked at again, and once more at the end.
    const isOver = await isOverLimit(root, limitBytes).catch(() => false)
    if (isStopped) return
    if (isOver) return onOver()
    plan(Math.max(pauseMs, (performance.now() - begun) * restPerLook))
  }
  const plan = (waitMs: number): void => {
    timer = setTimeout(() => void (looking = look()), waitMs)
    timer.unref()
  }
  plan(firstLookMs)
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await looking
    },
  }
}

export interface Trimming {
  /** There is too much. Called before the first of it is taken away: whoever looks again after that finds no more than may be there. */
  readonly onOver?: () => void
  /** What could not be removed. */
  readonly onLeft?: (error: unknown) => void
}

/**
 * After the guest's end: keeps files in the order of their names as long as they fit, and removes the others. A tree with more
 * names or levels than a walk goes through, or with a part that cannot be read, could hide anything, and is emptied. What cannot even
 * be removed is told, and keeps no exec from ending.
 */
export async function trimToLimit(
  root: string,
  limitBytes: number,
  { onOver = () => {}, onLeft = () => {} }: Trimming = {},
): Promise<{ readonly wasOver: boolean }> {
  const walk = walkGuestTree(root, { opensUp: true })
  let total = 0
  let wasOver = false
  const tellOver = (): void => {
    if (!wasOver) onOver()
    wasOver = true
  }
  for await (const met of walk.entries()) {
    if (!met.found.stats.isFile()) continue
    const size = Number(met.found.stats.size)
    if (total + size <= limitBytes) total += size
    else {
      tellOver()
      removeFile(met, onLeft)
    }
  }
  if (walk.gaps.size === 0) return { wasOver }
  tellOver()
  await emptyTree(root).catch((error: unknown) => tellLeft(error, onLeft))
  return { wasOver }
}

function removeFile({ parent, name }: Met, onLeft: (error: unknown) => void): void {
  try {
    unlinkSync(inside(parent.fd, name))
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) tellLeft(error, onLeft)
  }
}

function tellLeft(error: unknown, onLeft: (error: unknown) => void): void {
  if (!isErrno(error, 'EACCES', 'EPERM', 'EIO')) throw error
  onLeft(error)
}

async function emptyTree(root: string): Promise<void> {
  const top = openRoot(root)
  try {
    const asked = { verb: 'empty', path: guestArtifacts as GuestPath }
    await emptyDirectory(top, { held: nothingHeld, asked, opensUp: true })
  } finally {
    closeSync(top.fd)
  }
}

// Removing what a guest has left, in a place that we made for it and once it has ended. Its modes, and paths that are longer than the
// kernel takes, must not make it stay: whoever cannot remove it now cannot do so later.
import { closeSync, rmSync, rmdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { GuestPath } from '../contract/mount.ts'
import { findInside, inside, openRoot, type Opened } from './descriptor.ts'
import { nothingHeld } from './held.ts'
import { isErrno } from './refusal.ts'
import { emptyDirectory, emptyDirectoryAtOnce, type Emptying } from './tree.ts'

const whole = { recursive: true, force: true } as const

/** Nothing is done where there is nothing. A link is removed, and not followed. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, whole)
  } catch (error) {
    const tree = openTree(path, error)
    try {
      await emptyDirectory(tree.top, emptyingOf(path))
      tree.remove()
    } finally {
      tree.close()
    }
  }
}

/** For those who cannot wait. */
export function removeTreeAtOnce(path: string): void {
  try {
    rmSync(path, whole)
  } catch (error) {
    const tree = openTree(path, error)
    try {
      emptyDirectoryAtOnce(tree.top, emptyingOf(path))
      tree.remove()
    } finally {
      tree.close()
    }
  }
}

const emptyingOf = (path: string): Emptying => ({
  held: nothingHeld,
  asked: { verb: 'remove', path: basename(path) as GuestPath },
  opensUp: true,
})

interface Tree {
  readonly top: Opened
  /** When it is empty. */
  remove(): void
  close(): void
}

/** Throws the fault of the plain way where it is no directory that is in the way. */
function openTree(path: string, fault: unknown): Tree {
  if (!isErrno(fault)) throw fault
  const parent = openRoot(dirname(path))
  const name = basename(path)
  let top: Opened | undefined
  const close = (): void => {
    if (top !== undefined) closeSync(top.fd)
    closeSync(parent.fd)
  }
  try {
    top = findInside(parent.fd, name)
    if (top?.stats.isDirectory() !== true) throw fault
    return { top, remove: () => rmdirSync(inside(parent.fd, name)), close }
  } catch (error) {
    close()
    throw error
  }
}

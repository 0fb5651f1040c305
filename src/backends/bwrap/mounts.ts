// Whether the mounts of a boundary still stand, as the kernel lists them.
import { closeSync, openSync } from 'node:fs'
import type { Asking } from '../../process/asking.ts'
import { readIfAlive } from './if-alive.ts'

export interface Mounts {
  stand(pid: number, mountPoints: readonly string[]): boolean
  /** The open list keeps the mounts, even after the last process among them. */
  close(): void
}

/** The list is long and seldom changes, and the kernel writes it anew for each reader. It is kept open, since the kernel tells in a moment
 * whether anything has changed, and read again only then. */
export function watchMounts({ hasChanged }: Pick<Asking, 'hasChanged'>): Mounts {
  let watched: number | undefined
  let isClosed = false
  let seen: { readonly points: readonly string[]; readonly stand: boolean } | undefined
  return {
    stand(pid, points) {
      if (isClosed) return false
      const place = `/proc/${pid}/mountinfo`
      // Opened before it is read: what changes in between has changed since.
      watched ??= openIfAlive(place)
      if (watched === undefined) return false
      const isNew = hasChanged(watched)
      if (!isNew && seen?.points === points) return seen.stand
      const list = readIfAlive(place)
      seen = { points, stand: list !== undefined && standIn(list, points) }
      return seen.stand
    },
    close() {
      isClosed = true
      if (watched !== undefined) closeSync(watched)
      watched = undefined
    },
  }
}

function openIfAlive(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}

function standIn(list: string, mountPoints: readonly string[]): boolean {
  const standing = new Set(list.split('\n').map((line) => line.split(' ', 5)[4]))
  return mountPoints.every((point) => standing.has(asInMountinfo(point)))
}

const asInMountinfo = (path: string): string =>
  path.replaceAll(/[ \t\n\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`)

// Whether the mounts of a boundary still stand, as the kernel lists them.
import { readIfAlive } from './if-alive.ts'

export interface Mounts {
  stand(pid: number, mountPoints: readonly string[]): boolean
}

/** The list is long and seldom changes: one that is as it was, to the letter, is not taken apart again. */
export function watchMounts(): Mounts {
  let seen: { readonly list: string; readonly points: readonly string[]; readonly stand: boolean } | undefined
  return {
    stand(pid, points) {
      const list = readIfAlive(`/proc/${pid}/mountinfo`)
      if (list === undefined) return false
      if (seen?.list !== list || seen.points !== points) seen = { list, points, stand: standIn(list, points) }
      return seen.stand
    },
  }
}

function standIn(list: string, mountPoints: readonly string[]): boolean {
  const standing = new Set(list.split('\n').map((line) => line.split(' ', 5)[4]))
  return mountPoints.every((point) => standing.has(asInMountinfo(point)))
}

const asInMountinfo = (path: string): string =>
  path.replaceAll(/[ \t\n\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`)

// Which mount serves a guest path. The longest prefix wins, by whole names, so a nested mount hides
// what its parent has at the same place.
import { GloveboxError } from '../errors/error.ts'
import type { GuestPath, Mount } from '../contract/mount.ts'
import { isWithin, segmentsOf } from './guest.ts'

export interface MountTable {
  readonly mounts: readonly Mount[]
  /** The serving mount and the names below its root, or undefined outside every mount. */
  locate(path: GuestPath): { readonly mount: Mount; readonly segments: readonly string[] } | undefined
  /** Names directly below `path` that are mounts or lead to mounts, sorted. */
  nestedNames(path: GuestPath): readonly string[]
}

export function mountTable(mounts: readonly Mount[]): MountTable {
  refuseDuplicates(mounts)
  const longestFirst = mounts.toSorted((a, b) => segmentsOf(b.guestPath).length - segmentsOf(a.guestPath).length)
  return {
    mounts: longestFirst,
    locate(path) {
      const mount = longestFirst.find((candidate) => isWithin(path, candidate.guestPath))
      if (mount === undefined) return undefined
      return { mount, segments: segmentsOf(path).slice(segmentsOf(mount.guestPath).length) }
    },
    nestedNames(path) {
      const depth = segmentsOf(path).length
      const names = new Set<string>()
      for (const { guestPath } of longestFirst) {
        const name = segmentsOf(guestPath)[depth]
        if (name !== undefined && isWithin(guestPath, path)) names.add(name)
      }
      return [...names].toSorted()
    },
  }
}

function refuseDuplicates(mounts: readonly Mount[]): void {
  const seen = new Set<string>()
  for (const { guestPath } of mounts) {
    if (seen.has(guestPath)) {
      throw new GloveboxError('INVALID_INPUT', `Cannot mount ${guestPath}: it is mounted twice`, {
        hint: 'Give each mount its own guest path.',
      })
    }
    seen.add(guestPath)
  }
}

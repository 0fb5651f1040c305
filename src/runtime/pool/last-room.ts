// Room for what is written while a member is thrown away: locks, journals, and that nobody has it. On a full disk nobody could make room
// otherwise. It is taken when a process opens its members, and again behind everything that was thrown away.
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import { keptSpace, pageBytes } from '../../paths/kept-space.ts'

const keptBytes = 256 * 1024
/** More than the end of one takes. */
const neededBytes = 8 * pageBytes

export interface LastRoom {
  /** Where the disk is full, some is given. */
  make(): void
  renew(): void
}

export function openLastRoom(state: HostPath): LastRoom {
  const space = keptSpace(join(state, 'reserve'), keptBytes)
  const renew = (): void => {
    try {
      if (space.size() < keptBytes) space.grow()
    } catch {
      // Nobody needs it now. Whoever does is told why it is not there.
    }
  }
  renew()
  return {
    renew,
    make() {
      const { bavail, bsize } = statfsSync(state)
      for (let free = bavail * bsize; free < neededBytes && space.give(0);) free += pageBytes
    },
  }
}

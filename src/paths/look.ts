// Looking without opening: stat, which shows a symlink as a symlink.
import type { FileStat } from '../contract/files.ts'
import { isWaypoint, walk, type Arrival, type Reach } from './contain.ts'
import { linkInside, type Opened } from './descriptor.ts'
import { kindOf } from './entries.ts'
import { refusal, type Question } from './refusal.ts'

export function statPath(reach: Reach, asked: Question): FileStat {
  const place = walk(reach, { ...asked, followLeaf: false })
  const waypoint: FileStat = { path: asked.path, kind: 'directory', sizeBytes: 0, modifiedMs: 0, mode: 0o755 }
  if (isWaypoint(place)) return waypoint
  try {
    if (place.leaf !== undefined) return describe(place, place.leaf, asked)
    // A mount deeper inside may have no directory behind it on the way.
    if (reach.table.nestedNames(place.path).length > 0) return waypoint
    throw refusal('NOT_FOUND', asked, 'nothing is there')
  } finally {
    place.close()
  }
}

function describe(place: Arrival, leaf: Opened, asked: Question): FileStat {
  const { stats } = leaf
  const vault = place.mount.mode === 'vault'
  const name = place.names[0]
  const target =
    stats.isSymbolicLink() && !vault && place.parent !== undefined && name !== undefined
      ? linkInside(place.parent.fd, name)
      : undefined
  return {
    path: asked.path,
    kind: kindOf(stats),
    sizeBytes: vault ? 0 : Number(stats.size),
    modifiedMs: Number(stats.mtimeNs / 1_000_000n),
    mode: Number(stats.mode & 0o777n),
    ...(target === undefined ? {} : { target }),
  }
}

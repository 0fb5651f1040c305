// A member's files carried over into another directory, where they cannot be seen through: sharing blocks, or byte by byte.
import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CopyMethod } from '../../runs/fork/copy.ts'
import { insides, type LayoutName } from './layout.ts'

interface Copying {
  /** Directories of a member or of snapshots, nearest first. */
  readonly from: readonly string[]
  readonly into: string
  readonly by: CopyMethod
}

export async function copyInsides(
  copying: Copying & ({ readonly layout: LayoutName } | { readonly insides: readonly string[] }),
): Promise<void> {
  const { copyTree } = await import('../../runs/fork/copy.ts')
  const names = 'insides' in copying ? copying.insides : [...insides(copying.layout), 'home']
  for (const inside of names) {
    const layers = copying.from.map((place) => join(place, inside)).filter((place) => existsSync(place))
    const [nearest] = layers
    if (nearest === undefined) continue
    const to = join(copying.into, inside)
    mkdirSync(dirname(to), { recursive: true, mode: 0o755 })
    mkdirSync(to, { mode: 0o700 })
    // A home is no mount and so was never layered: the nearest is all of it.
    await copyTree(inside === 'home' ? [nearest] : layers, to, copying.by)
    const { uid, gid, mode } = statSync(nearest)
    chownSync(to, uid, gid)
    chmodSync(to, mode & 0o7777)
  }
}

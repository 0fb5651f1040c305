// Where spares lie, and how one becomes a member's place: the member's directory is then a link to the spare's own, made in one step
// and exclusively. Nothing moves: containers are given paths, and labels cannot be changed.
import { readdirSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { isErrno } from '../../paths/refusal.ts'
import { removeTree, removeTreeAtOnce } from '../../paths/remove-tree.ts'
import { isOrphaned } from '../../process/scratch.ts'
import { namesIfThere } from '../../paths/if-there.ts'
import { linkTo } from './blanks.ts'
import { memberPlace, membersIn } from './place.ts'

export const sparesIn = (state: HostPath): HostPath => join(state, 'spares') as HostPath

/** Its record is there already, so that whoever finds the link finds a whole member. Rejects with EEXIST if the id has a place. */
export const becomeMember = (state: HostPath, id: SandboxId, directory: HostPath): void =>
  linkTo(directory, memberPlace(state, id))

/** A member's place, or one that was renamed, with all that is in it. */
export async function removePlace(state: HostPath, place: string): Promise<void> {
  const behind = spareBehind(state, place)
  if (behind !== undefined) await removeTree(behind)
  await removeTree(place)
}

/** SECURITY: a link is followed only to where a spare lies, since all that is there is removed.
 * src/runtime/pool/spare-place.test: "a link to anywhere else is removed and not followed" */
function spareBehind(state: HostPath, place: string): string | undefined {
  try {
    const target = readlinkSync(place)
    return dirname(target) === sparesIn(state) ? target : undefined
  } catch (error) {
    if (isErrno(error, 'EINVAL', 'ENOENT')) return undefined
    throw error
  }
}

/** Takes away what processes that are gone had made ahead, and what they claimed but did not live to give a name. */
export function sweepSpares(state: HostPath): void {
  const orphaned = namesIfThere(sparesIn(state)).filter(isOrphaned)
  if (orphaned.length === 0) return
  const claimed = new Set(linksIn(membersIn(state)))
  for (const name of orphaned) {
    const place = join(sparesIn(state), name)
    if (!claimed.has(place)) removeTreeAtOnce(place)
  }
}

function linksIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .map((entry) => readlinkSync(join(directory, entry.name)))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

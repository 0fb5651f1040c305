// Where members and snapshots lie. The same directory holds what sandboxes without a member need while they live; those bear the
// mark of their process in their names, and members do not.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { namesIfThere } from '../../paths/if-there.ts'

export const membersIn = (state: HostPath): HostPath => join(state, 'sandboxes') as HostPath
export const memberPlace = (state: HostPath, id: SandboxId): HostPath => join(membersIn(state), id) as HostPath
export const snapshotsIn = (state: HostPath): HostPath => join(state, 'snapshots') as HostPath

/** A member that is being thrown away: no longer found under its id, and swept by whoever comes next. */
const discardedPrefix = '.gone-'
export const discardedPlace = (state: HostPath, id: SandboxId, mark: string): HostPath =>
  join(membersIn(state), `${discardedPrefix}${id}-${mark}`) as HostPath
export const isDiscarded = (name: string): boolean => name.startsWith(discardedPrefix)

export function listMemberIds(state: HostPath): readonly SandboxId[] {
  return namesIfThere(membersIn(state)).filter(isSandboxId)
}

export function makePlace(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
}

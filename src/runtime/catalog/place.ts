// Where the catalog of a sandbox lies on the host, and where the guest finds it.
import { accessSync, constants, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CatalogPlace } from '../../contract/backend.ts'
import type { GuestPath, HostPath, Mount } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { guestJoin, isWithin } from '../../paths/guest.ts'

const workspace = '/workspace' as GuestPath
const name = '.glovebox'
const usual = guestJoin(workspace, name)
/** Of the sandbox's own directory, in which nothing of the operator's has to give way. */
const apart = '/.glovebox/catalog' as GuestPath

/** Below a directory that belongs to the sandbox and is shown to no guest. */
export function placeCatalog(mounts: readonly Mount[], owned: HostPath): CatalogPlace {
  const hostPath = join(owned, 'catalog') as HostPath
  mkdirSync(hostPath, { recursive: true, mode: 0o755 })
  return { guestPath: canStandIn(mounts) ? usual : apart, hostPath }
}

/**
 * A mount point must be there before something is mounted over it. In a workspace that may be written it is made for the while; one
 * that nobody may write is left as it is, and has nothing under the name.
 */
function canStandIn(mounts: readonly Mount[]): boolean {
  const over = mounts.find(({ guestPath }) => guestPath === workspace)
  // Else the directory is the sandbox's own.
  if (over === undefined || over.mode === 'rw') return true
  const seen = lstatSync(join(over.hostPath, name), { throwIfNoEntry: false })
  // SECURITY: what a project brings under the name must not be read as what the sandbox says of itself.
  // test/attacks/self-description: "a project cannot bring a catalog of its own"
  if (seen?.isDirectory() === false) throw brought()
  return over.mode === 'ro' && (seen !== undefined || isWritable(over.hostPath))
}

const brought = (): GloveboxError =>
  new GloveboxError('LINK_REFUSED', `Cannot mount ${workspace}: it has a ${name} that is not a directory`, {
    hint: `Remove it: the sandbox tells the agent of itself in ${usual}.`,
  })

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Nobody mounts anything over what the sandbox says of itself. */
export const isCatalogPath = (path: GuestPath): boolean => isWithin(path, usual)

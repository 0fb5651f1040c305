// From the mounts that a person names to the mounts of a sandbox: guest paths checked, host paths made real.
import { realpathSync, statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { isWithin, parseGuestPath } from '../paths/guest.ts'
import { isCatalogPath } from './catalog/place.ts'
import { mountModes, type MountRequest } from './mount-text.ts'

// Laid by the backend itself; a mount over one of them would hide a defence.
const reserved = [
  '/proc',
  '/dev',
  '/sys',
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/.glovebox',
  '/home/agent',
]
// SECURITY: kernel interfaces and the whole root are never a workspace.
// test/attacks/files: "the host's root and its kernel directories cannot be mounted"
const refusedHosts = ['/proc', '/sys', '/dev']

/** `kept`: those that stand already, which are not looked up again. */
export function resolveMounts(requests: readonly MountRequest[], kept: readonly Mount[] = []): readonly Mount[] {
  const mounts = requests.map((request): Mount => {
    const guestPath = guestSide(request.guestPath)
    const mode = request.mode ?? 'rw'
    if (!mountModes.includes(mode))
      throw refuse(guestPath, `'${mode}' is not a mode`, `Modes: ${mountModes.join(', ')}.`)
    const over = request.over && {
      lower: request.over.lower.map((layer) => hostSide(guestPath, layer)),
      work: hostSide(guestPath, request.over.work),
    }
    return { guestPath, hostPath: hostSide(guestPath, request.hostPath), mode, ...(over && { over }) }
  })
  refuseOpenVaults([...kept, ...mounts])
  return mounts
}

/** SECURITY: a vault that another mount shows as plain files is none. Covered by itself, where that mount shows it, it is.
 * test/attacks/files: "a vault that another mount shows is refused" */
function refuseOpenVaults(mounts: readonly Mount[]): void {
  for (const vault of mounts.filter(({ mode }) => mode === 'vault')) {
    const shows = mounts.find(
      ({ mode, guestPath, hostPath }) =>
        mode !== 'vault' &&
        `${vault.hostPath}/`.startsWith(`${hostPath}/`) &&
        guestPath + vault.hostPath.slice(hostPath.length) !== vault.guestPath,
    )
    if (shows === undefined) continue
    throw refuse(
      vault.guestPath,
      `${shows.guestPath} would show what is in the vault`,
      'Keep the vault outside the directories of other mounts.',
    )
  }
}

function guestSide(text: string): GuestPath {
  if (!text.startsWith('/'))
    throw refuse(text, 'the guest path must be absolute', 'Write it from the root, for example /workspace.')
  const path = parseGuestPath(text)
  if (path === '/')
    throw refuse(path, 'the root itself cannot be a mount', 'Choose a directory below it, for example /workspace.')
  if (isCatalogPath(path))
    throw refuse(path, 'the sandbox tells the agent of itself there', 'Choose another guest path.')
  const taken = reserved.find((place) => isWithin(path, place as GuestPath) || isWithin(place as GuestPath, path))
  if (taken !== undefined && !(taken === '/home/agent' && !isWithin(path, taken as GuestPath)))
    throw refuse(
      path,
      `${taken} belongs to the sandbox`,
      'Choose another guest path, for example /workspace or /mnt/data.',
    )
  return path
}

function hostSide(guestPath: GuestPath, text: string): HostPath {
  if (text === '' || text.includes('\0'))
    throw refuse(guestPath, 'the host path is empty or has a NUL byte', 'Name a directory.')
  const wanted = isAbsolute(text) ? text : resolve(text)
  let real: string
  try {
    real = realpathSync.native(wanted)
  } catch {
    throw new GloveboxError('NOT_FOUND', `Cannot mount ${guestPath}: its host directory does not exist`, {
      hint: 'Make the directory first, or correct the path.',
      operatorDetail: wanted,
    })
  }
  const kind = statSync(real)
  if (!kind.isDirectory())
    throw refuse(guestPath, 'the host path is not a directory', 'Mount the directory that holds the file.')
  if (real === '/' || refusedHosts.some((place) => real === place || real.startsWith(`${place}/`)))
    throw refuse(
      guestPath,
      "the host's root and its kernel directories are never mounted",
      'Name the directory that the agent needs.',
    )
  return real as HostPath
}

const refuse = (guestPath: string, cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot mount ${guestPath}: ${cause}`, { hint })

// Where a search begins. The checks give the caller the right error; containment is not theirs to give: the
// search runs inside the sandbox, where nothing but the guest's own view exists.
import type { ActionContext } from '../../contract/action.ts'
import type { FileStat } from '../../contract/files.ts'
import type { GuestPath, MountMode } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isWithin, parseGuestPath } from '../../paths/guest.ts'

export interface SearchRoot {
  readonly path: GuestPath
  /** The directory that the program runs in, so that all names it sees and tells are relative. */
  readonly directory: GuestPath
  /** Set when the path is a file: its name in `directory`. */
  readonly file?: string
  readonly sizeBytes: number
}

export async function searchRoot(context: ActionContext, text: string): Promise<SearchRoot> {
  const path = parseGuestPath(text, context.cwd)
  const found = await followed(context, await context.boundary.files.stat(path))
  if (found.kind === 'directory') return { path, directory: path, sizeBytes: 0 }
  if (found.kind !== 'file') {
    throw new GloveboxError('NOT_A_FILE', `Cannot search ${path}: it is neither a directory nor a regular file`)
  }
  const cut = path.lastIndexOf('/')
  const directory = parseGuestPath(cut === 0 ? '/' : path.slice(0, cut))
  return { path, directory, file: path.slice(cut + 1), sizeBytes: found.sizeBytes }
}

/** A symlink is entered only if file access would follow it, which is so when its target stays inside a mount. */
async function followed(context: ActionContext, found: FileStat): Promise<Pick<FileStat, 'kind' | 'sizeBytes'>> {
  if (found.kind !== 'symlink') return found
  const { files } = context.boundary
  try {
    await files.list(found.path, { limit: 1 })
    return { kind: 'directory', sizeBytes: 0 }
  } catch (error) {
    if (!(error instanceof GloveboxError) || error.code !== 'NOT_A_DIRECTORY') throw error
    const { sizeBytes } = await files.read(found.path, { maxBytes: 1, partial: true })
    return { kind: 'file', sizeBytes }
  }
}

type DescribedMount = { readonly guestPath: string; readonly mode: MountMode }

/** Vaults below the root, relative to it. */
export function vaultsBelow(mounts: readonly DescribedMount[], root: GuestPath): readonly string[] {
  return vaultPaths(mounts)
    .filter((path) => path !== root && isWithin(path, root))
    .map((path) => path.slice(root === '/' ? 1 : root.length + 1))
}

/** The longest prefix decides: a mount inside a vault is not the vault. */
export function refuseVault(mounts: readonly DescribedMount[], path: GuestPath): void {
  const holders = mounts.filter((mount) => isWithin(path, parseGuestPath(mount.guestPath)))
  const holder = holders.toSorted((one, other) => other.guestPath.length - one.guestPath.length)[0]
  if (holder?.mode !== 'vault') return
  throw new GloveboxError('VAULT', `Cannot search the contents of ${path}: it lies in a vault`, {
    hint: 'The names in a vault can be listed; its contents cannot be reached.',
  })
}

const vaultPaths = (mounts: readonly DescribedMount[]): readonly GuestPath[] =>
  mounts.filter((mount) => mount.mode === 'vault').map((mount) => parseGuestPath(mount.guestPath))

/** `./a/b` as the program tells it, to the guest's absolute path. */
export function absolutePath(directory: GuestPath, told: string): string {
  const relative = told.startsWith('./') ? told.slice(2) : told
  return directory === '/' ? `/${relative}` : `${directory}/${relative}`
}

// The workspace's root, as this host's programs and as Docker must be told it. Windows and WSL see one disk under two names;
// each is given the one it knows, and never the other's. A root that is missing is asked of `wslpath`, which alone knows how
// this machine mounts its drives; without an answer the operator is told what to set. Pure: `wslpath` is handed in.
import { GloveboxError } from '../../errors/error.ts'
import { formatPosix, isDriveMount, isPosixName, parsePosix } from './posix.ts'
import type { Runtime } from './runtime.ts'
import { formatForDocker, formatWindows, isWindowsName, isWslShare, parseWindows, type WindowsPath } from './windows.ts'

export interface Roots {
  readonly workspace_root?: string | undefined
  readonly workspace_root_win?: string | undefined
  readonly workspace_root_wsl?: string | undefined
}

/** Calls `wslpath -a -u` or `-w`; undefined where there is no such program or it refused. */
export type AskWslpath = (option: '-u' | '-w', path: string) => string | undefined

export interface NativeRoot {
  readonly runtime: Runtime
  /** For programs of this host. */
  readonly host_path_native: string
  /** For `docker run`. */
  readonly docker_mount_path: string
  /** The same two, of what lies below. A name that this host would read otherwise is refused. */
  below(...names: readonly string[]): NativeRoot
}

export interface AdaptRequest {
  readonly runtime: Runtime
  readonly roots: Roots
  readonly wslpath?: AskWslpath | undefined
}

export function adaptRoot({ runtime, roots, wslpath }: AdaptRequest): NativeRoot {
  if (runtime === 'windows')
    return windowsRoot(chooseRoot('workspace_root_win', 'workspace_root_wsl', '-w', roots, wslpath))
  if (runtime === 'wsl')
    return posixRoot(runtime, chooseRoot('workspace_root_wsl', 'workspace_root_win', '-u', roots, wslpath))
  if (isGiven(roots.workspace_root))
    return posixRoot(runtime, { setting: 'workspace_root', path: roots.workspace_root })
  throw refused('no root is set', 'Set workspace_root to an absolute path.')
}

interface Chosen {
  readonly setting: keyof Roots
  readonly path: string
}

const isGiven = (text: string | undefined): text is string => text !== undefined && text !== ''

/** The host's own name for it, then the name without a system, then a translation of the other system's name. */
function chooseRoot(
  own: keyof Roots,
  other: keyof Roots,
  option: '-u' | '-w',
  roots: Roots,
  wslpath: AskWslpath | undefined,
): Chosen {
  for (const setting of [own, 'workspace_root'] as const) {
    const path = roots[setting]
    if (isGiven(path)) return { setting, path }
  }
  const foreign = roots[other]
  if (!isGiven(foreign)) throw refused('no root is set', `Set ${own} to an absolute path.`)
  // Only what is a path of the other system is handed to a program.
  const fault = other === 'workspace_root_win' ? parseWindows(foreign) : parsePosix(foreign)
  if (typeof fault === 'string') throw refused(`${other} ${fault}`, `Set ${own} to an absolute path.`)
  const translated = wslpath?.(option, foreign)?.replace(/\r?\n$/, '')
  if (isGiven(translated)) return { setting: own, path: translated }
  throw refused(`wslpath gives no name for ${other} on this host`, `Set ${own} to the same directory as ${other}.`)
}

function windowsRoot({ setting, path }: Chosen): NativeRoot {
  const parsed = parseWindows(path)
  if (typeof parsed === 'string') {
    const cause = isDriveMount(path) ? 'is a path of WSL, which Windows does not know' : parsed
    throw refused(`${setting} ${cause}`, String.raw`Set workspace_root_win to a path like D:\workspace.`)
  }
  if (parsed.root.startsWith('\\\\') && !isWslShare(parsed))
    throw refused(
      `${setting} lies on a network share, which Docker cannot mount`,
      'Set workspace_root_win to a local drive.',
    )
  return ofWindows(parsed)
}

const ofWindows = (path: WindowsPath): NativeRoot => ({
  runtime: 'windows',
  host_path_native: formatWindows(path),
  docker_mount_path: formatForDocker(path),
  below: (...names) => {
    refuseNames(names, isWindowsName)
    return ofWindows({ ...path, names: [...path.names, ...names] })
  },
})

function posixRoot(runtime: Runtime, { setting, path }: Chosen): NativeRoot {
  const parsed = parsePosix(path)
  if (typeof parsed === 'string') {
    const own = runtime === 'wsl' ? 'workspace_root_wsl' : 'workspace_root'
    throw refused(`${setting} ${parsed}`, `Set ${own} to a path like /srv/workspace.`)
  }
  return ofPosix(runtime, parsed)
}

const ofPosix = (runtime: Runtime, path: readonly string[]): NativeRoot => ({
  runtime,
  host_path_native: formatPosix(path),
  docker_mount_path: formatPosix(path),
  below: (...names) => {
    refuseNames(names, isPosixName)
    return ofPosix(runtime, [...path, ...names])
  },
})

function refuseNames(names: readonly string[], isName: (name: string) => boolean): void {
  if (names.every(isName)) return
  throw new GloveboxError('INVALID_PATH', 'Cannot use a name below the workspace: this host would read it otherwise', {
    hint: 'Use letters, digits, "_" and "-", and no name that the host keeps for a device.',
  })
}

const refused = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_SETTINGS', `Cannot place the workspace: ${cause}`, { hint })

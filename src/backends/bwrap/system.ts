// The directories of the host that every program needs. SECURITY: an allow-list, not the host's root: a read-only bind does not
// stop connect() to a socket below it. test/attacks/sockets: "a socket of the host is not there to connect to"
// It is also what can be bound at any time: bwrap fails by chance where it binds the root while a mount below it goes, as those of
// containers do all the time.
import { lstatSync, readlinkSync } from 'node:fs'

export interface SystemEntry {
  readonly path: string
  /** Absent: a directory that is bound read-only. Present: a link, made again inside. */
  readonly linkTarget?: string
}

const systemPlaces = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/lib32', '/libx32', '/etc']

export function findSystem(): readonly SystemEntry[] {
  return systemPlaces.flatMap((path): SystemEntry[] => {
    try {
      return lstatSync(path).isSymbolicLink() ? [{ path, linkTarget: readlinkSync(path) }] : [{ path }]
    } catch {
      return []
    }
  })
}

export const isInSystem = (path: string): boolean => systemPlaces.some((place) => path.startsWith(`${place}/`))

export const bindSystem = (system: readonly SystemEntry[]): readonly string[] =>
  system.flatMap(({ path, linkTarget }) =>
    linkTarget === undefined ? ['--ro-bind', path, path] : ['--symlink', linkTarget, path],
  )

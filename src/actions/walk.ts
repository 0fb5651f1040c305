// A bounded walk over directories through file access, which contains every step by descriptor. Symlinks are
// reported and never entered. Directories that cannot be listed are told, not passed over in silence.
import type { DirectoryEntry, FileAccess } from '../contract/files.ts'
import type { GuestPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { guestJoin } from '../paths/guest.ts'

export interface WalkedEntry extends DirectoryEntry {
  readonly path: GuestPath
  /** 1 for what lies directly in the root. */
  readonly depth: number
}

export interface WalkOptions {
  readonly maxDepth: number
  /** How many entries may be looked at in all. */
  readonly maxVisited: number
  /** Names of directories that are reported but not entered. */
  readonly closed: ReadonlySet<string>
  readonly signal: AbortSignal | undefined
}

export interface WalkEnd {
  readonly truncated: boolean
  /** Directories that could not be listed, in order, at most `maxUnreadable`. */
  readonly unreadable: readonly GuestPath[]
}

const maxUnreadable = 100

/** Depth first, by name. The visitor returns false to stop; the walk then counts as truncated. */
export async function walk(
  files: FileAccess,
  root: GuestPath,
  options: WalkOptions,
  visit: (entry: WalkedEntry) => boolean,
): Promise<WalkEnd> {
  const unreadable: GuestPath[] = []
  let left = options.maxVisited
  let truncated = false

  const enter = async (directory: GuestPath, depth: number): Promise<boolean> => {
    refuseCancelled(root, options.signal)
    const listed = depth === 1 ? await files.list(directory, { limit: left }) : await tryList(directory)
    if (listed === undefined) return true
    truncated ||= listed.truncated
    for (const entry of listed.entries) {
      const path = joined(directory, entry.name)
      if (path === undefined) continue
      if (left-- <= 0 || !visit({ ...entry, path, depth })) return false
      const open = entry.kind === 'directory' && depth < options.maxDepth && !options.closed.has(entry.name)
      if (open && !(await enter(path, depth + 1))) return false
    }
    return true
  }

  const note = (directory: GuestPath): void => {
    if (unreadable.length < maxUnreadable && unreadable.at(-1) !== directory) unreadable.push(directory)
  }

  /** A guest can nest directories deeper than a path can tell. */
  const joined = (directory: GuestPath, name: string): GuestPath | undefined => {
    try {
      return guestJoin(directory, name)
    } catch (error) {
      if (!(error instanceof GloveboxError) || error.code !== 'INVALID_PATH') throw error
      note(directory)
      return undefined
    }
  }

  const tryList = async (directory: GuestPath) => {
    if (left <= 0) return { entries: [], truncated: true }
    try {
      return await files.list(directory, { limit: left })
    } catch (error) {
      if (!isPassable(error)) throw error
      if (error.code !== 'NOT_FOUND') note(directory)
      return undefined
    }
  }

  const finished = await enter(root, 1)
  return { truncated: truncated || !finished, unreadable }
}

/** The guest works on while we walk: a directory may vanish or become something else. Others are closed to us. */
const isPassable = (error: unknown): error is GloveboxError =>
  error instanceof GloveboxError &&
  ['NOT_FOUND', 'NOT_A_DIRECTORY', 'NOT_PERMITTED', 'LINK_REFUSED', 'VAULT', 'OUTSIDE_MOUNTS'].includes(error.code)

function refuseCancelled(root: GuestPath, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new GloveboxError('CANCELLED', `Cannot list ${root}: the caller cancelled it`)
}

// Who owns what the host makes in a mount. Root makes files for somebody else; everybody else makes their own.
import { chmodSync, closeSync, type BigIntStats } from 'node:fs'
import { itself, openRoot, type Opened } from './descriptor.ts'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** The owner to set by hand, or undefined where the kernel's choice is the only one possible. */
export const ownerLike = (stats: BigIntStats): Owner | undefined =>
  process.geteuid?.() === 0 ? { uid: Number(stats.uid), gid: Number(stats.gid) } : undefined

export type Right = 'read' | 'write' | 'enter'
const bit: Readonly<Record<Right, bigint>> = { read: 4n, write: 2n, enter: 1n }

/**
 * What the mount's owner may do, root may do for them, and no more. `owner` is undefined where the kernel itself judges.
 * SECURITY: root could read every file below a mount; the guest, who is its owner, could not.
 * test/attacks/host-paths: "started by root, a file action reaches no more than the mount's owner may"
 */
export function ownerMay(owner: Owner | undefined, stats: BigIntStats, ...rights: readonly Right[]): boolean {
  if (owner === undefined) return true
  const shift = stats.uid === BigInt(owner.uid) ? 6n : stats.gid === BigInt(owner.gid) ? 3n : 0n
  return rights.every((right) => ((stats.mode >> shift) & bit[right]) !== 0n)
}

const all = 0o700n

/**
 * A guest runs as whoever started us, where that is an ordinary user, and can take from its directories what we need to look into them
 * and to empty them. They are given it back; the kernel asks root for no mode.
 * SECURITY: a file may have another name outside of what the guest was given, and a link leads anywhere; a directory has one name, and the
 * very one that is held is changed. src/paths/remove-tree: "what is opened to be removed is no file and nothing behind a link"
 */
export function openUp({ fd, stats }: Opened): void {
  if (!stats.isDirectory() || (stats.mode & all) === all || Number(stats.uid) !== process.geteuid?.()) return
  chmodSync(itself(fd), Number((stats.mode & 0o7777n) | all))
}

/** Of a directory that a guest was given whole: its name is ours, and no guest can put a link in its place. */
export function openUpAt(directory: string): void {
  const opened = openRoot(directory)
  try {
    openUp(opened)
  } finally {
    closeSync(opened.fd)
  }
}

// Who owns what the host makes in a mount. Root makes files for somebody else; everybody else makes their own.
import type { BigIntStats } from 'node:fs'

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

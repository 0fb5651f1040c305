// Who owns what the host makes in a mount. Root makes files for somebody else; everybody else makes their own.
import type { BigIntStats } from 'node:fs'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** The owner to set by hand, or undefined where the kernel's choice is the only one possible. */
export const ownerLike = (stats: BigIntStats): Owner | undefined =>
  process.geteuid?.() === 0 ? { uid: Number(stats.uid), gid: Number(stats.gid) } : undefined

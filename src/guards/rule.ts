// What is laid over a mount, in words that every backend made of mounts understands.
import type { HostPath } from '../contract/mount.ts'

/** A rule laid over a mount: `pin` keeps a directory from being renamed away, `readonly` from being changed. */
export interface Guard {
  readonly guestPath: string
  readonly source: string
  readonly rule: 'pin' | 'readonly'
}

export interface Mask {
  readonly guestPath: string
  /** For a file: the empty, unreadable file that is laid over it. Absent: a directory. */
  readonly coverFile?: string
}

/** Where a layered mount really keeps its changes: what a later process finds there. */
export interface OnDisk {
  readonly hostPath: HostPath
  readonly device: string
}

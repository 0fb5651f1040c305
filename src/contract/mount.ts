// A mount joins the two sides of the boundary. The two kinds of path are different types, so that a
// host path cannot be shown to an agent, nor a guest path be opened on the host, without a conversion.
declare const side: unique symbol

/** Absolute, normalised POSIX path as the agent sees it. Made only by `paths/guest`. */
export type GuestPath = string & { readonly [side]: 'guest' }
/** Absolute path on the operator's side. Never shown to an agent. */
export type HostPath = string & { readonly [side]: 'host' }

export type MountMode = 'rw' | 'ro' | 'vault'

/** Directories that are seen through a mount and never written. */
export interface MountLayers {
  /** Nearest first: what the mount's own directory has not is looked for here, in this order. */
  readonly lower: readonly HostPath[]
  /** A directory beside the mount's own, for the kernel's half-done work. Out of the guest's reach. */
  readonly work: HostPath
}

export interface Mount {
  readonly guestPath: GuestPath
  /** With layers: the directory that takes every change. */
  readonly hostPath: HostPath
  readonly mode: MountMode
  /** What is seen through the mount and never changed by it. A backend without `mount.layers` is refused. */
  readonly over?: MountLayers
}

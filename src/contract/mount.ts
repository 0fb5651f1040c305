// A mount joins the two sides of the boundary. The two kinds of path are different types, so that a
// host path cannot be shown to an agent, nor a guest path be opened on the host, without a conversion.
declare const side: unique symbol

/** Absolute, normalised POSIX path as the agent sees it. Made only by `paths/guest`. */
export type GuestPath = string & { readonly [side]: 'guest' }
/** Absolute path on the operator's side. Never shown to an agent. */
export type HostPath = string & { readonly [side]: 'host' }

export type MountMode = 'rw' | 'ro' | 'vault'

export interface Mount {
  readonly guestPath: GuestPath
  readonly hostPath: HostPath
  readonly mode: MountMode
}

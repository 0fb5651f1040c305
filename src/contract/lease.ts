// Leases: who may use a sandbox of a pool, told outside of every process that might. One contract for files (the processes of
// one host) and PostgreSQL (many servers). A lease ends by itself unless it is renewed, since its owner may have died; each
// grant carries a token that is higher than all before it, since its owner may only have slept. Time is counted where the
// lease is kept (the host's clock since boot, the database's clock), and never compared between machines.
// Each sentence marked "Law" has a test in test/conformance/leases in the same words.
import type { SandboxId } from './ids.ts'

/** `active`: its owner uses it. `warm`: parked; whoever comes first may take it. `destroying`: about to be no more. */
export const leaseStates = ['active', 'warm', 'destroying'] as const
export type LeaseState = (typeof leaseStates)[number]

/**
 * How the lease was found that a grant follows upon.
 * `none`: there was none. `own`: this owner's. `parked`: somebody else's, and warm. `dead`: its owner has certainly ended.
 * `expired`: its owner did not renew it, and may be alive: asleep, or cut off, with commands of its own still running.
 */
export type FormerLease =
  | { readonly was: 'none' }
  | { readonly was: 'own' | 'parked' | 'dead' | 'expired'; readonly token: number; readonly state: LeaseState }

export type LeaseAnswer =
  // Law: a token is higher than every token that was granted before, also after the lease was dropped.
  | { readonly granted: true; readonly token: number; readonly former: FormerLease }
  | { readonly granted: false; readonly state: LeaseState }

export interface LeaseRow {
  readonly id: SandboxId
  readonly owner: string
  readonly token: number
  readonly state: LeaseState
  /** Its time is over or its owner dead: whoever wants it may take it. */
  readonly isOver: boolean
}

export interface HeldLease {
  readonly id: SandboxId
  readonly token: number
}

export interface Leases {
  /** Of this process; never used by another, nor by a later one. */
  readonly owner: string
  /** How long a grant or a renewal lasts, counted from when it was asked for. */
  readonly ttlMs: number
  /* Law: of many that take at once, one is granted and the others are refused. */
  /* Law: while a lease is being destroyed it is refused to whoever would use it. */
  /**
   * To use it. Granted where there is no lease, where it is warm, where its time is over or its owner dead, and on an
   * active one of this owner's own (whose answer may have been lost).
   */
  take(id: SandboxId): Promise<LeaseAnswer>
  /**
   * To destroy it: with `token`, what this owner holds under that very token, or is destroying already (the answer may have been
   * lost); without, only what nobody holds.
   * Law: to destroy one needs the present token, or a lease that is over.
   */
  condemn(id: SandboxId, options?: { readonly token: number }): Promise<LeaseAnswer>
  /** False: it was lost. Law: a parked lease is still renewed by its owner, and granted to whoever takes it. */
  park(held: HeldLease): Promise<boolean>
  /**
   * Those that are still this owner's, and now for another `ttlMs`.
   * Law: a lease that nobody took is renewed even after its time, and one that was taken never again.
   */
  renew(held: readonly HeldLease[]): Promise<ReadonlySet<SandboxId>>
  /** Law: a lease is dropped by its token alone; with an older one nothing changes. */
  drop(held: HeldLease): Promise<void>
  list(): Promise<readonly LeaseRow[]>
  /** Gives back what this holds in the process. Leases that are left end by their time. */
  close(): Promise<void>
}

// What the pool is handed. It knows no backend, no clock and no file: `runtime` gives it the real ones, and its simulation
// gives it ones in which every pause, crash and order of events can happen. Leases are in contract/lease.ts.
import type { SandboxId } from '../contract/ids.ts'
import type { FormerLease } from '../contract/lease.ts'
import type { SandboxKey } from '../contract/provider.ts'

export interface Clock {
  /**
   * Milliseconds that only grow, and go on while the process is stopped and while the machine sleeps (on Linux
   * CLOCK_BOOTTIME, not `performance.now()`): a lease is counted with it.
   */
  nowMs(): number
  /** Resolves, never rejects, after so long or when the signal fires. Somebody waits for it, so it keeps the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** The same for what goes on in the background, and keeps no process alive. */
  rest(ms: number, signal?: AbortSignal): Promise<void>
}

/** One use of a member: a command, an operation on a file. */
export interface Work {
  /** The member may already be somebody else's. */
  readonly isLost: boolean
  /** Called, at most once, when that comes to be so: end at once what was started. Only the last one that was given counts. */
  whenLost(end: () => void): void
  /** Always called, once or more. */
  end(): void
}

/**
 * The right to use a member, handed to whoever makes its handle. It lives as long as the handle, through parking and taking
 * back; the token changes each time.
 */
export interface Tenure {
  readonly id: SandboxId
  readonly token: number
  /**
   * Before each use, with nothing awaited between this and the start: refused with LEASE_LOST when the member may be another's,
   * and with SANDBOX_GONE when it was released or destroyed. Until `end` the member is neither evicted nor taken for idle; each
   * beginning and end counts as activity. Nothing else does.
   */
  begin(use?: Use): Work
}

export interface Use {
  /**
   * For what ends by itself, and must be whole: its files are carried away, or its boundary is another one afterwards. Until then nobody else
   * is given the member, and its absolute end waits.
   */
  readonly isAlone?: boolean
}

/** How a member comes to its end, for whoever decides what is kept of it. */
export const endings = [
  // Its boundary ends; its files stay where the layout keeps them, and the next `create` under the id finds them.
  'idle',
  'paused',
  'evicted',
  'shutdown',
  'orphan',
  'dead',
  // Its files go too.
  'asked',
  'expired',
] as const
export type Ending = (typeof endings)[number]

export const keepsFiles = (why: Ending): boolean => why !== 'asked' && why !== 'expired'

export interface MemberInfo {
  readonly id: SandboxId
  /** As it was made with, whole: an id is a hash, and two keys may share one. Null: made without a key. */
  readonly key: SandboxKey | null
  /** Something of it costs the host: a container, processes, something half made. False: only files lie there. */
  readonly isRunning: boolean
  /** Its absolute end has come, by the wall clock of whoever keeps it. */
  readonly isOver: boolean
}

export type Life = 'alive' | 'dead' | 'unknown'

export interface Opening {
  readonly tenure: Tenure
  /** Of the lease before ours. `expired`: its owner may be alive, and what it started may still run. */
  readonly former: FormerLease
  /** Its id was made by chance for this very opening: nothing lies under it, and nobody else knows it. */
  readonly isUnheardOf?: boolean
}

export interface Creation<Request> extends Opening {
  readonly key: SandboxKey | null
  /** Undefined where one that lies there is opened by its id: it is made as it was made before. */
  readonly request: Request | undefined
}

/**
 * Sandboxes of one installation, wherever they are kept. Every call is made under a lease, and carries its token, since a
 * process may be stopped between the lease and the call:
 * what was opened under a higher token is never opened, changed or ended under a lower one (reject with LEASE_LOST).
 */
export interface Members<Handle, Request> {
  /** What lies under this id, however it came there. Touches nothing, starts nothing. */
  find(id: SandboxId): Promise<MemberInfo | undefined>
  /**
   * A handle to one that runs already. Undefined: there is none that could be used, and `create` is next.
   * When it resolves, nothing runs in it any more that an owner before us started and could still steer, and handles of
   * lower tokens reach it no more. Where that cannot be brought about: reject with BUSY.
   */
  attach(id: SandboxId, opening: Opening): Promise<Handle | undefined>
  /**
   * Makes it, over the files that lie under the id if there are any. What is left of something half made is taken away first.
   * When it rejects, nothing runs.
   */
  create(id: SandboxId, creation: Creation<Request>): Promise<Handle>
  /** Asked at each borrowing, so it should be cheap. `unknown` where nobody can tell now: that is not dead. Never activity. */
  probe(handle: Handle): Promise<Life>
  /** Its absolute end has come. From memory; asked often. */
  isOver(handle: Handle): boolean
  /**
   * Lets go of a handle. What can live without this process lives on; what cannot (a bwrap of ours) is ended. Touches nothing
   * that another owner has opened since. May be called twice.
   */
  detach(handle: Handle): Promise<void>
  /**
   * Idempotent, and finishes what an earlier destroy left half done. Files that go are first taken out of the way in one step,
   * so that nobody finds half of them.
   */
  destroy(id: SandboxId, options: { readonly token: number; readonly why: Ending }): Promise<void>
  /** All of this installation, of whichever process; never another installation's. */
  list(): Promise<readonly MemberInfo[]>
}

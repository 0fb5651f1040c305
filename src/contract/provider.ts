// Provider: sandboxes by key instead of by making. Whoever needs the sandbox of a thread asks for it and gets the one that is
// there, or a new one; whoever has done gives it back running. It promises one sandbox to a key, in every process and on
// every server of an installation. It says nothing of how a sandbox is made: any backend can stand behind it.
// Each sentence marked "Law" is a case of the provider's conformance suite in the same words.
import type { SandboxId } from './ids.ts'
import type { OperatorPolicy } from './policy.ts'
import type { Sandbox } from './sandbox.ts'

/** Whose thread it is. Both parts are told apart: ('a', 'bc') is not ('ab', 'c'). Neither may be empty. */
export interface SandboxKey {
  /** A user or, on a server, a project. */
  readonly user: string
  readonly thread: string
}

/** What a sandbox is made with where there is none yet. One that is there already stays as it was made. */
export interface SandboxRequest {
  readonly backend?: string | undefined
  readonly policy?: OperatorPolicy | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
}

export interface AcquireOptions<Request extends SandboxRequest = SandboxRequest> {
  readonly request?: Request | undefined
  /** Waits no longer than this for a place, or for another process that has it. Default: the provider's own bound. */
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Provider<Request extends SandboxRequest = SandboxRequest> {
  /* Law: the same key gives the same sandbox, and sees its files. */
  /* Law: different keys give different sandboxes. */
  /* Law: without a key every acquire gives a new sandbox. */
  /* Law: acquiring at once under one key makes one sandbox. */
  /* Law: a sandbox that died while it was parked is replaced without an error. */
  /**
   * Refused with CAPACITY_EXCEEDED (later) where every place is in use, with BUSY (later) where another process uses the
   * sandbox of this key, and with KEY_COLLISION where the id belongs to another key.
   */
  acquire(key?: SandboxKey, options?: AcquireOptions<Request>): Promise<SandboxId>
  // Law: get reads memory only, and knows nothing of an id that was not acquired here.
  /** Undefined where this process does not have it. */
  get(id: string): Sandbox | undefined
  // Law: a sandbox that was released is taken back as it was.
  /** Parks it. Law: releasing twice, or what is not there, is no error. */
  release(id: string): Promise<void>
  /** Ends it with its files. Law: destroy is idempotent, and the next acquire of its key begins anew. */
  destroy(id: string): Promise<void>
  /** Forgets all that is in memory and ends no sandbox that can live on. Law: after a reset the same key finds its files again. */
  reset(): Promise<void>
  /** Law: after shutdown every acquire is refused with DRAINING, and shutting down twice is shutting down once. */
  shutdown(): Promise<void>
}

/** What `use: module#Name` must name: it is called once, with the pool's settings as they stand in the file. */
export type OpenProvider = (settings: Readonly<Record<string, unknown>>) => Provider | Promise<Provider>

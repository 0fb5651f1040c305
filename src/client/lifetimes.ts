// The life of a sandbox on a server beside its use: parked, renewed, paused, resumed, forked, and kept as a snapshot.
import type { SandboxId } from '../contract/ids.ts'
import type { Description } from '../contract/sandbox.ts'
import { newKey } from './key.ts'
import { make } from './make.ts'
import { eachOf, type Page, type PageOptions } from './pages.ts'
import type { Server } from './server.ts'

export type SandboxState = 'active' | 'warm' | 'resting' | 'paused'

export interface SandboxSummary {
  readonly id: SandboxId
  readonly project: string
  readonly name: string | null
  readonly key: string | null
  readonly metadata: Readonly<Record<string, string>>
  /** `warm` was released; `resting` has its files only. Any use opens it. */
  readonly state: SandboxState
  readonly createdAt: string
  readonly expiresAt: string
  readonly backend: string
}

export interface SandboxDetail extends SandboxSummary {
  readonly description: Description
}

export interface SnapshotSummary {
  readonly id: string
  readonly project: string
  readonly name: string | null
  readonly sandboxId: SandboxId
  readonly createdAt: string
  /** `overlay` and `reflink` copied nothing. */
  readonly by: 'overlay' | 'reflink' | 'copy'
}

interface Signalled {
  readonly signal?: AbortSignal
}

export interface SnapshotFilter extends PageOptions {
  readonly project?: string
  readonly sandbox_id?: string
  readonly name?: string
}

export interface Snapshots {
  /** Nothing may run in the sandbox meanwhile. `create({ snapshot })` begins with its files. */
  create(sandboxId: string, options?: Signalled & { readonly name?: string }): Promise<SnapshotSummary>
  get(id: string, options?: Signalled): Promise<SnapshotSummary>
  list(filter?: SnapshotFilter): Promise<Page<SnapshotSummary>>
  each(filter?: Omit<SnapshotFilter, 'limit' | 'cursor'>): AsyncGenerator<SnapshotSummary, void>
  /** Sandboxes that began with it go on. */
  delete(id: string, options?: Signalled): Promise<void>
}

/** What a sandbox costs its host; null where nothing is open, or where `notCounted` says why. */
export interface SandboxUsage {
  readonly memoryBytes: number | null
  readonly memoryLimitBytes: number
  readonly cpuMs: number | null
  readonly cpuCores: number
  readonly pids: number | null
  readonly pidsLimit: number
  readonly diskBytes: number
  readonly diskEntries: number
  readonly diskIsMore: boolean
  /** What the backend of an open sandbox cannot tell. */
  readonly notCounted: readonly { readonly what: 'memoryBytes' | 'pids' | 'cpuMs'; readonly why: string }[]
}

/** Of the whole server, whatever the project. */
export interface PoolStats {
  readonly active: number
  readonly warm: number
  readonly used: number
  readonly replicas: number
  /** Acquires that wait for a place. */
  readonly waiting: number
  readonly acquired: Readonly<Record<string, number>>
  readonly ended: Readonly<Record<string, number>>
  /** Found dead when they were borrowed, and replaced. */
  readonly replaced: number
  /** Leases that passed to another process. */
  readonly lost: number
  /** What is made ahead of its use. */
  readonly ahead: {
    /** Claimed by nobody yet. */
    readonly ready: number
    readonly wanted: number
    /** Could not be made. */
    readonly failed: number
    /** Why the last one could not be made; null while all goes well. */
    readonly why: string | null
  }
}

/** By the names that the operator of the server has given to directories and vaults of its host. */
export interface ProvisionRequest {
  readonly mounts?: {
    readonly add?: readonly { readonly name: string; readonly guestPath: string; readonly mode?: 'ro' | 'rw' }[]
    /** Guest paths. */
    readonly remove?: readonly string[]
  }
  readonly vaults?: { readonly add?: readonly string[]; readonly remove?: readonly string[] }
}

export interface RemoteProvisioned {
  readonly sandbox: SandboxDetail
  /** What of its state did not survive, in words. Files, home and policy always do. */
  readonly lost: readonly string[]
}

export interface Lifetimes {
  /** Mounts and vaults come and go between commands: BUSY while one runs. */
  provision(id: string, request: ProvisionRequest, options?: Signalled): Promise<RemoteProvisioned>
  pool(options?: Signalled): Promise<PoolStats>
  /** Neither opens it nor keeps it open. */
  usage(id: string, options?: Signalled): Promise<SandboxUsage>
  /** Parks it: the next use takes it back with no start. */
  release(id: string, options?: Signalled): Promise<SandboxSummary>
  /** Its life ends so long from now. */
  renew(id: string, lifeMs: number, options?: Signalled): Promise<SandboxSummary>
  /** Ends what runs, and keeps the files for 30 days at most. Any use resumes it. */
  pause(id: string, options?: Signalled): Promise<SandboxSummary>
  resume(id: string, options?: Signalled): Promise<SandboxSummary>
  /** New sandboxes that begin with its files. Nothing may run in it meanwhile. */
  fork(
    id: string,
    options?: Signalled & { readonly count?: number; readonly lifeMs?: number },
  ): Promise<readonly SandboxDetail[]>
}

const pathOf = (id: string): string => `/sandboxes/${encodeURIComponent(id)}`

export function remoteLifetimes(server: Server): Lifetimes {
  const post = <Value>(path: string, doing: string, json: unknown, { signal }: Signalled = {}): Promise<Value> =>
    // Done twice, each of these leaves what it leaves when it is done once.
    server.json({ method: 'POST', path, json, doing, signal, repeatable: true })
  const end = (id: string): Promise<void> =>
    server.json({ method: 'DELETE', path: pathOf(id), doing: 'kill the sandbox' })
  return {
    pool: ({ signal } = {}) => server.json({ method: 'GET', path: '/pool', signal, doing: 'look at the pool' }),
    usage: (id, { signal } = {}) =>
      server.json({ method: 'GET', path: `${pathOf(id)}/usage`, signal, doing: 'look at the sandbox' }),
    provision: (id, json, { signal } = {}) =>
      server.json({ method: 'POST', path: `${pathOf(id)}/provision`, json, signal, doing: 'provision the sandbox' }),
    release: (id, options) => post(`${pathOf(id)}/release`, 'release the sandbox', undefined, options),
    renew: (id, lifeMs, options) => post(`${pathOf(id)}/renew`, 'renew the sandbox', { lifeMs }, options),
    pause: (id, options) => post(`${pathOf(id)}/pause`, 'pause the sandbox', undefined, options),
    resume: (id, options) => post(`${pathOf(id)}/resume`, 'resume the sandbox', undefined, options),
    async fork(id, { signal, ...asked } = {}) {
      const path = `${pathOf(id)}/fork`
      const doing = 'fork the sandbox'
      const idempotencyKey = newKey()
      const made = await make<{ readonly items: readonly SandboxDetail[] }>(
        server,
        { method: 'POST', path, json: asked, idempotencyKey, signal, doing },
        ({ items }) => Promise.all(items.map((each) => end(each.id))),
      )
      return made.items
    },
  }
}

export function remoteSnapshots(server: Server): Snapshots {
  const list: Snapshots['list'] = ({ signal, ...query } = {}) =>
    server.json({ method: 'GET', path: '/snapshots', query, signal, doing: 'list the snapshots' })
  const one = (id: string): string => `/snapshots/${encodeURIComponent(id)}`
  const remove: Snapshots['delete'] = (id, { signal } = {}) =>
    server.json({ method: 'DELETE', path: one(id), signal, doing: 'delete the snapshot' })
  return {
    create: (sandboxId, { signal, ...json } = {}) => {
      const path = `${pathOf(sandboxId)}/snapshots`
      const asked = { method: 'POST', path, json, idempotencyKey: newKey(), doing: 'take the snapshot' } as const
      return make<SnapshotSummary>(server, { ...asked, signal }, ({ id }) => remove(id))
    },
    get: (id, { signal } = {}) => server.json({ method: 'GET', path: one(id), signal, doing: 'find the snapshot' }),
    list,
    each: (filter = {}) => eachOf((cursor) => list(cursor === undefined ? filter : { ...filter, cursor })),
    delete: remove,
  }
}

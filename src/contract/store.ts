// Where the server keeps what it must find again by query: execs, owners, tokens, idempotency keys and an index of runs.
// One contract for SQLite and PostgreSQL; the room `store` is the only one with SQL. Files are the truth: what is here of
// runs and execs can be rebuilt from them. Times are ISO 8601 in UTC with milliseconds, so that they sort as text; no
// decision rests on them but a token's life. Each sentence marked "Law" has a test in test/conformance/store in the same words.
import type { Claim, IdempotencyTable, IdempotentRequest } from './idempotency.ts'
import type { ExecId } from './ids.ts'
import type { Leases } from './lease.ts'
import type { OwnerTable } from './owner.ts'
import type { RunStatus } from './run.ts'
import type { StoreHealth } from './store-health.ts'

/** `2026-11-15T12:00:00.000Z`: exactly as `Date.toISOString` writes it. */
export type Timestamp = string

// Law: pages neither repeat nor skip a row that was there from the start.
/** What a list goes on from: the last row that was seen. */
export interface PageKey {
  readonly created_at: Timestamp
  readonly id: string
}

export interface PageRequest {
  /** From 1 to 1000. */
  readonly limit: number
  readonly after?: PageKey | undefined
}

/** Rows of execs may be long. */
export interface ExecPageRequest extends PageRequest {
  // Law: a page ends before its rows are longer than was asked for, and never without a row.
  /** Of the rows' text, about. Absent: as long as they come. */
  readonly mostText?: number | undefined
}

/** Newest first. */
export interface Page<Row> {
  readonly rows: readonly Row[]
  /** Null where there is nothing after this page. */
  readonly next: PageKey | null
}

export const execStatuses = [
  'QUEUED',
  'RUNNING',
  'SUCCEEDED',
  'FAILED',
  'TIMEOUT',
  'CANCELLED',
  'OOM',
  'POLICY_DENIED',
  'LOST',
] as const
export type ExecStatus = (typeof execStatuses)[number]

export const hasEnded = (status: ExecStatus): boolean => status !== 'QUEUED' && status !== 'RUNNING'

/** A row of `sandbox_execs`. Law: a row comes back as it was put in. */
export interface ExecRow {
  readonly exec_id: ExecId
  readonly project_id: string
  readonly task_id: string | null
  readonly conversation_id: string | null
  readonly skill_id: string | null
  /** What was asked for; from its beginning on, what it runs in. Null: the host's own system, or it has not begun and asks for none. */
  readonly image: string | null
  /** Which one had that name. Null where it has not begun, or runs in no image. */
  readonly image_id: string | null
  /** An exec that goes back into the queue is as it came. */
  readonly image_asked: string | null
  readonly cmd: string
  readonly args: readonly string[]
  readonly cwd: string | null
  /** Names only: values of environment variables are stored nowhere. */
  readonly env_keys: readonly string[]
  /**
   * The policy in force, not the request: from its beginning on that of the server which began it. Null where none came into force,
   * because the request was refused.
   */
  readonly policy_snapshot: Readonly<Record<string, unknown>> | null
  readonly status: ExecStatus
  readonly exit_code: number | null
  readonly error_reason: string | null
  readonly started_at: Timestamp | null
  readonly ended_at: Timestamp | null
  readonly duration_ms: number | null
  readonly artifacts_path: string
  readonly stdout_truncated: boolean
  readonly stderr_truncated: boolean

  readonly created_at: Timestamp
  /** Who works on it, or alone may: see `OwnerRow` in owner.ts. Null in the queue where any server may take it. */
  readonly owner: string | null
  /** Law: the fence of an exec only grows, and a writer with an older one changes nothing. */
  readonly fence: number
  readonly backend: string | null
  /** What the backend calls the boundary: by it a server that was killed finds its container again. */
  readonly boundary_id: string | null
  readonly cancel_requested_at: Timestamp | null
}

/** What may still change of an exec. */
export type ExecChange = Partial<
  Pick<
    ExecRow,
    | 'status'
    | 'image'
    | 'image_id'
    | 'policy_snapshot'
    | 'exit_code'
    | 'error_reason'
    | 'started_at'
    | 'ended_at'
    | 'duration_ms'
    | 'stdout_truncated'
    | 'stderr_truncated'
    | 'backend'
    | 'boundary_id'
  >
>

export interface ExecFilter {
  /** Undefined: of every project. */
  readonly project_id?: string | undefined
  readonly task_id?: string | undefined
  readonly conversation_id?: string | undefined
  readonly skill_id?: string | undefined
  readonly status?: readonly ExecStatus[] | undefined
  readonly owner?: string | null | undefined
  readonly cancel_requested?: true | undefined
}

/** How much waits, and how much of a server runs. */
export interface ExecLoad {
  readonly queued: number
  readonly queuedOfProject: number
  readonly running: number
}

/** What is asked of all execs that have not ended: their rows may be many and long. */
export type OpenExec = Pick<ExecRow, 'exec_id' | 'owner' | 'boundary_id' | 'created_at'>

export interface WriteOptions {
  /**
   * `synced` (the default): on the disk before the answer. `written`: survives the death of the process and not a power
   * cut; only where a synced file says the same.
   */
  readonly durability?: 'synced' | 'written'
}

export interface ExecTable {
  // Law: a key and its exec are stored together or not at all.
  /** Without a key the outcome is always `claimed`; an exec_id that is there already is refused with ALREADY_EXISTS. */
  insert(row: ExecRow, options?: WriteOptions & { readonly request?: IdempotentRequest }): Promise<Claim>
  // Law: what was inserted in doubt is there, or never comes.
  /** After an insert of which nobody could tell whether it took place. Waits for one that is still under way. */
  wasInserted(row: ExecRow): Promise<boolean>
  find(execId: string): Promise<ExecRow | undefined>
  list(filter: ExecFilter, page: ExecPageRequest): Promise<Page<ExecRow>>
  /** Those that have not ended, without what makes a row long. */
  listOpen(filter: Pick<ExecFilter, 'owner'>, page: PageRequest): Promise<Page<OpenExec>>
  count(filter: ExecFilter): Promise<number>
  // Law: what waits and what runs is counted at one moment, so that an exec which begins is counted once.
  /** Of all servers' queue, of one project's, and of what this owner runs; without these execs. */
  countLoad(of: Pick<ExecRow, 'project_id'> & { owner: string; except: readonly string[] }): Promise<ExecLoad>
  // Law: who owns an exec that has not ended is told, and nobody else.
  /** Each once. */
  owners(): Promise<readonly string[]>
  // Law: an exec that has ended never changes again.
  /** False, and nothing changed, if the exec has ended, is not there, or has a newer fence. */
  update(execId: string, fence: number, change: ExecChange, options?: WriteOptions): Promise<boolean>
  // Law: the project with the fewest running execs comes first, then the one whose last turn is longest ago, then the oldest exec.
  /**
   * The next exec of the queue, now RUNNING, owned by the caller and with a higher fence. Takes only what has no owner or this one.
   * Law: two that claim at once never get the same exec.
   */
  claimNext(
    claim: { readonly owner: string; readonly started_at: Timestamp },
    options?: WriteOptions,
  ): Promise<ExecRow | undefined>
  // Law: of many that take over at once, one wins.
  /** The exec with its new owner and a higher fence; undefined if it has ended or belongs to someone else than `from`. */
  takeOver(execId: string, change: { readonly from: string | null; readonly to: string }): Promise<ExecRow | undefined>
  // Law: cancelling twice is cancelling once.
  /**
   * Leaves word for the owner, whoever it is. One that is still in the queue is the canceller's from then on, with a higher fence: it
   * has not ended before its files say so. The exec as it stands then; undefined if it is not there.
   * Law: an exec that was cancelled in the queue is claimed by nobody.
   */
  requestCancel(execId: string, cancel: { readonly by: string; readonly at: Timestamp }): Promise<ExecRow | undefined>
  // Law: what is withdrawn was never there, and neither was its key.
  /** For a request that is refused after all. False, and nothing changed, if the exec has been claimed or cancelled, has ended or is not there. */
  withdraw(execId: string, request?: Pick<IdempotentRequest, 'project_id' | 'key'>): Promise<boolean>
  /**
   * For `reindex`: what the files say takes the place of the row, but for its owner, fence and word of cancelling, and a row
   * that has ended does not begin again. Law: restoring twice is restoring once.
   */
  restore(rows: readonly ExecRow[]): Promise<void>
}

export const tokenScopes = ['read', 'exec', 'admin'] as const
export type TokenScope = (typeof tokenScopes)[number]

export interface TokenRow {
  readonly id: string
  readonly name: string
  /** SHA-256 of the token. The token itself is stored nowhere. */
  readonly hash: string
  readonly scopes: readonly TokenScope[]
  /** Null: every project. */
  readonly project: string | null
  readonly not_before: Timestamp | null
  readonly expires_at: Timestamp | null
  readonly revoked_at: Timestamp | null
  readonly created_at: Timestamp
  /** The token that made it; null for the first one and for those made on the command line. */
  readonly created_by: string | null
}

export interface TokenTable {
  /** ALREADY_EXISTS for an id or a hash that is there. */
  insert(row: TokenRow): Promise<void>
  /** Only while there is none; false otherwise. Law: of many first tokens one is kept. */
  insertFirst(row: TokenRow): Promise<boolean>
  /** Expired and revoked ones too: the caller decides, and can say why. */
  findByHash(hash: string): Promise<TokenRow | undefined>
  find(id: string): Promise<TokenRow | undefined>
  /** Undefined project: of all. */
  list(filter: { readonly project?: string | undefined }, page: PageRequest): Promise<Page<TokenRow>>
  /** False if it is not there. Law: a token that was revoked stays revoked, with its first time. */
  revoke(id: string, at: Timestamp): Promise<boolean>
  count(): Promise<number>
}

/** What a list of runs shows. The rest is read from the run's directory. */
export interface RunRow {
  readonly run_id: string
  readonly session_id: string
  readonly task_id: string
  /** Null for runs that were not made through the server. */
  readonly project_id: string | null
  /** Host path of the run's directory: for the operator's side only. */
  readonly directory: string
  readonly status: RunStatus
  readonly executor: string | null
  readonly failure_reason: string | null
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
  /** `state_seq` of run.json. Law: an older state never takes the place of a newer one. */
  readonly state_seq: number
}

export interface RunFilter {
  readonly project_id?: string | undefined
  readonly session_id?: string | undefined
  readonly task_id?: string | undefined
  readonly status?: readonly RunStatus[] | undefined
}

export interface RunTable {
  /** False: there is one under its id, which stays as it is. Of several who ask at once, also from other servers, one is told true. */
  insert(row: RunRow): Promise<boolean>
  /** Adds the run or brings it up to date. Only a row that is there already may be `written`: one that vanishes is found by nobody. */
  put(row: RunRow, options?: WriteOptions): Promise<void>
  find(runId: string): Promise<RunRow | undefined>
  list(filter: RunFilter, page: PageRequest): Promise<Page<RunRow>>
  remove(runId: string): Promise<void>
}

/**
 * Each call ends within a bounded time. One that could not be done is STORE_UNAVAILABLE, and has changed nothing unless it is in
 * doubt (`isInDoubt`): the database went away during its commit.
 */
export interface Store {
  /** Made once with the database: leases of servers that share it are told from others by it. */
  readonly installationId: string
  /** The database was damaged just now, is kept under this host path, and this one began empty. */
  readonly quarantined: string | undefined
  /** The same, but true of every opening until `indexed` is called: runs and execs must be indexed anew from their files. */
  readonly unindexedSince: string | undefined
  /** Runs and execs were indexed anew. */
  indexed(): void
  readonly execs: ExecTable
  readonly owners: OwnerTable
  readonly tokens: TokenTable
  readonly idempotency: IdempotencyTable
  readonly runs: RunTable
  /** Leases of sandboxes that every server on this database shares; each call is another owner. Undefined on SQLite, which has no
   * clock of its own and belongs to one host: there leases are files. */
  readonly openLeases: ((options?: { readonly ttlMs?: number }) => Leases) | undefined
  // Law: of the keys that servers offer at once, one is kept, and all are told it.
  /** What servers of this database sign with what callers carry from one to the other. Nothing is offered where there is one. */
  serverKey(offer: () => Uint8Array): Promise<Uint8Array>
  health(): Promise<StoreHealth>
  close(): Promise<void>
}

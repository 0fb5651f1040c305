// The tables as the database holds them: the same names and types on both engines. JSON is text, a yes or no is 1 or 0, a
// time is text that sorts. What the rest of the system sees of a row is in contract/store.ts.
import type { Kysely } from 'kysely'
import type { IdempotencyRow } from '../contract/idempotency.ts'
import type { ExecRow, RunRow, TokenRow } from '../contract/store.ts'

type Stored<Row, Json extends keyof Row, YesNo extends keyof Row = never> = {
  [Column in keyof Row]: Column extends Json ? string : Column extends YesNo ? number : Row[Column]
}

export type ExecColumns = Stored<
  ExecRow,
  'exec_id' | 'args' | 'env_keys' | 'policy_snapshot',
  'stdout_truncated' | 'stderr_truncated'
>
export type TokenColumns = Stored<TokenRow, 'scopes'>

export interface OwnerColumns {
  readonly owner: string
  readonly facts: string
  readonly beat: number
  readonly created_at: string
}

/** On PostgreSQL alone. */
export interface LeaseColumns {
  readonly id: string
  readonly owner: string
  readonly token: number
  readonly state: string
  readonly expires_at: number
}

/** The count at which a project had its last turn in the queue. */
export interface TurnColumns {
  readonly project_id: string
  readonly turn: number
}

export interface MetaColumns {
  readonly name: string
  readonly value: string
}

export interface Tables {
  sandbox_execs: ExecColumns
  owners: OwnerColumns
  tokens: TokenColumns
  idempotency: IdempotencyRow
  runs: RunRow
  meta: MetaColumns
  leases: LeaseColumns
  turns: TurnColumns
}

export type Database = Kysely<Tables>

// Requests that are sent more than once and done once: what the store keeps of them. Each sentence marked "Law" has a test in
// test/conformance/store in the same words.
import type { Timestamp } from './store.ts'

/** One request under an `Idempotency-Key`, which belongs to a project. */
export interface IdempotentRequest {
  readonly project_id: string
  readonly key: string
  /** SHA-256 of method, route and body. */
  readonly body_sha256: string
  readonly created_at: Timestamp
}

export interface IdempotencyRow extends IdempotentRequest {
  /** The id of what the request makes, chosen before it is made: after a crash one can look whether it was. */
  readonly subject: string
  /** The answer that was given, as text. Null until `finish`. */
  readonly answer: string | null
}

// Law: under one key there is one subject, however many ask at once.
/** What came of asking for a key. Law: another body under the same key is a mismatch. */
export type Claim =
  | { readonly outcome: 'claimed' }
  | { readonly outcome: 'repeated'; readonly row: IdempotencyRow }
  | { readonly outcome: 'mismatch' }

export interface IdempotencyTable {
  claim(request: IdempotentRequest & { readonly subject: string }): Promise<Claim>
  /** Keeps the answer. Law: the first answer stays. */
  finish(at: { readonly project_id: string; readonly key: string; readonly answer: string }): Promise<void>
  find(at: { readonly project_id: string; readonly key: string }): Promise<IdempotencyRow | undefined>
  /** Where the key names nothing that its request could have made. Only while it has no answer. */
  release(at: { readonly project_id: string; readonly key: string; readonly subject: string }): Promise<void>
  /** How many were forgotten. */
  purge(older: { readonly than: Timestamp }): Promise<number>
}

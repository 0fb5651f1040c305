// What may enter the audit log. Small and free of secrets by check, not by promise: the log is kept for years, copied to
// auditors and never edited, so what must not be in it is refused before it is written.
import { GloveboxError } from '../errors/error.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }
export type AuditData = Readonly<Record<string, Json>>

export interface AuditEntry {
  /** Who: `operator`, `token:tok_…`, `runtime`. */
  readonly actor: string
  /** What: words joined by dots, for example `exec.start`. */
  readonly action: string
  /** To what: an id, at most 512 characters. */
  readonly subject: string
  readonly data?: AuditData
}

/** Checked, with its data in the one form that is hashed. */
export interface CheckedEntry {
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly dataText: string
}

export const maxDataBytes = 4096
const maxActor = 128
const maxSubject = 512
const maxDepth = 8
const actionForm = /^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$/
const maxAction = 64

// SECURITY: a name that means a secret is refused with whatever value; `tokenId` and the like pass.
// src/audit/entry: "a name or a value that means a secret is refused"
const secretName =
  /(?:passw(?:or)?d|passphrase|secret|authorization|cookie|api[-_]?key|private[-_]?key|credentials?)$|^token$|(?:access|refresh|bearer|auth|session)[-_]?token$/i
const secretValue = /-----BEGIN [A-Z ]*PRIVATE KEY-----|^\s*(?:bearer|basic)\s+\S{8,}/i

export function checkEntry(entry: AuditEntry): CheckedEntry {
  checkText('actor', entry.actor, maxActor)
  checkText('subject', entry.subject, maxSubject)
  if (entry.action.length > maxAction || !actionForm.test(entry.action))
    throw refuse('its action is not made of small words joined by dots', 'Write it like "exec.start".')
  return { actor: entry.actor, action: entry.action, subject: entry.subject, dataText: dataText(entry.data ?? {}) }
}

/** Names sorted at every level: equal data gives equal bytes, whoever built it. */
export function dataText(data: AuditData): string {
  const text = JSON.stringify(canonical(data, 1))
  if (Buffer.byteLength(text) > maxDataBytes)
    throw refuse(`its data is larger than ${maxDataBytes} bytes`, 'Keep the value in a file, and its hash here.')
  return text
}

function canonical(value: Json, depth: number): Json {
  if (depth > maxDepth) throw refuse(`its data is nested deeper than ${maxDepth} levels`, 'Flatten it.')
  if (typeof value === 'string') return checkedText(value)
  if (typeof value === 'number') return checkedNumber(value)
  if (value === null || typeof value === 'boolean') return value
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => canonical(item, depth + 1))
  if (!isPlain(value)) throw refuse('its data holds something that JSON cannot', 'Use plain values only.')
  const names = Object.keys(value).toSorted()
  // fromEntries defines own properties, so `__proto__` is a name like any other.
  return Object.fromEntries(names.map((name) => [checkedName(name), canonical(value[name] as Json, depth + 1)]))
}

function isPlain(value: unknown): value is { readonly [name: string]: Json } {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function checkedName(name: string): string {
  if (secretName.test(name)) throw refuse(`its data has the name of a secret: ${JSON.stringify(name)}`, leaveOut)
  return name
}

function checkedText(text: string): string {
  if (secretValue.test(text)) throw refuse('its data holds what looks like a secret', leaveOut)
  return text
}

function checkedNumber(value: number): number {
  if (!Number.isFinite(value)) throw refuse('its data holds a number that JSON cannot', 'Use finite numbers only.')
  return value
}

function checkText(field: string, text: string, most: number): void {
  if (typeof text !== 'string' || text === '' || text.length > most)
    throw refuse(`its ${field} is not a text of 1 to ${most} characters`, 'Name who, and what it was done to.')
  checkedText(text)
}

const leaveOut = 'Record an id or a hash instead of the secret.'

const refuse = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot record an audit entry: ${cause}`, { hint })

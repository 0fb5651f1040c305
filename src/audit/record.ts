// One record of the audit log: a line of JSON in a fixed order of names that ends with `"prev":"…","hash":"…"}`.
// `hash` is the SHA-256 of the line's bytes before `,"hash":`, `prev` the hash of the record before, so no byte can change,
// and no record go, come or move, without the chain telling. `durable` is the last record known to be on disk when this one
// was written: what stands behind it was never answered, which tells a torn tail from damage to something that was.
import { hash } from 'node:crypto'
import type { AuditData, CheckedEntry } from './entry.ts'

export const outcomes = ['intent', 'done', 'failed', 'unknown'] as const
export type Outcome = (typeof outcomes)[number]

export interface AuditRecord {
  readonly seq: number
  /** For people. Order comes from `seq` alone. */
  readonly time: string
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly outcome: Outcome
  /** The seq of the intent that this record ends. */
  readonly intent: number | null
  /** The process that means to act, so that its death can be told. Only intents have it. */
  readonly by: string | null
  readonly data: AuditData
  readonly durable: number
  readonly prev: string
  readonly hash: string
}

export interface Unsealed extends CheckedEntry {
  readonly outcome: Outcome
  readonly intent: number | null
  readonly by: string | null
}

/** Where the chain stands: the last record. */
export interface Link {
  readonly seq: number
  readonly hash: string
}

export const beforeFirst: Link = { seq: 0, hash: '0'.repeat(64) }

export interface Sealed extends Link {
  readonly bytes: Buffer
  /** As a reader of the bytes has it. */
  readonly record: AuditRecord
}

export function seal(
  unsealed: Unsealed,
  after: Link,
  written: { readonly time: string; readonly durable: number },
): Sealed {
  const { actor, action, subject, outcome, intent, by, dataText } = unsealed
  const seq = after.seq + 1
  const named = { seq, time: written.time, actor, action, subject, outcome, intent, by }
  const body = `${JSON.stringify(named).slice(0, -1)},"data":${dataText},"durable":${written.durable},"prev":"${after.hash}"`
  const own = sha256(Buffer.from(body))
  const data = JSON.parse(dataText) as AuditData
  return {
    seq,
    hash: own,
    bytes: Buffer.from(`${body},"hash":"${own}"}\n`),
    record: { ...named, data, durable: written.durable, prev: after.hash, hash: own },
  }
}

export const sha256 = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex')

/** `,"hash":"` + 64 digits + `"}` */
const sealForm = /^,"hash":"([0-9a-f]{64})"\}$/
const sealBytes = 75

/** A line without its line break: the record, if its own hash is true; otherwise undefined. */
export function unseal(line: Buffer): AuditRecord | undefined {
  const at = line.length - sealBytes
  if (at < 1) return undefined
  const [, own] = sealForm.exec(line.toString('latin1', at)) ?? []
  if (own === undefined || own !== sha256(line.subarray(0, at))) return undefined
  // What carries a true hash was written by `seal`, or by somebody who took pains to look like it: then JSON at least.
  return parsed(line)
}

/** Whether the line has the shape of a record, true or not. */
export const looksLikeRecord = (line: Buffer): boolean => parsed(line) !== undefined

function parsed(line: Buffer): AuditRecord | undefined {
  try {
    const value: unknown = JSON.parse(line.toString())
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is AuditRecord {
  if (typeof value !== 'object' || value === null) return false
  const { seq, durable, prev, outcome } = value as Partial<AuditRecord>
  return (
    Number.isSafeInteger(seq) &&
    Number.isSafeInteger(durable) &&
    typeof prev === 'string' &&
    outcomes.includes(outcome as Outcome)
  )
}

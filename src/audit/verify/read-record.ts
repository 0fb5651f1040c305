// Reads one line as a record and says what it is worth on its own, before anything is known of its neighbours.
import { hash } from 'node:crypto'
import type { Line } from './source.ts'

export interface ReadRecord {
  readonly seq: number
  readonly prev: string
  readonly hash: string
  readonly durable: number
  readonly action: string
  readonly outcome: string
  readonly intent: number | null
  readonly data: unknown
}

export type Reading =
  | { readonly kind: 'true'; readonly record: ReadRecord }
  /** The shape of a record, but its hash is not that of its bytes. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'unreadable' }
  /** The file ends before the line does. */
  | { readonly kind: 'short' }

// The line ends with these 75 bytes; all bytes before them are what the hash is of. So every byte of a line is either
// hashed or compared, and none can change unseen.
const opening = ',"hash":"'
const closing = '"}'
const endBytes = opening.length + 64 + closing.length

export function readRecord({ bytes, isWhole }: Line): Reading {
  if (!isWhole) return { kind: 'short' }
  const record = shapeOf(bytes)
  if (record === undefined) return { kind: 'unreadable' }
  const end = bytes.length - endBytes
  const claimed = `${opening}${hash('sha256', bytes.subarray(0, end), 'hex')}${closing}`
  return bytes.toString('latin1', end) === claimed ? { kind: 'true', record } : { kind: 'changed' }
}

function shapeOf(bytes: Buffer): ReadRecord | undefined {
  if (bytes.length <= endBytes) return undefined
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const record = value as Record<string, unknown>
  const isShaped =
    isCount(record['seq']) &&
    isCount(record['durable']) &&
    typeof record['prev'] === 'string' &&
    typeof record['hash'] === 'string' &&
    typeof record['action'] === 'string' &&
    typeof record['outcome'] === 'string' &&
    (record['intent'] === null || isCount(record['intent']))
  return isShaped ? (value as ReadRecord) : undefined
}

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

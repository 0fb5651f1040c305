// Signed heads: every so often the log's last record is named and signed, so that what came before can be neither
// rewritten nor cut off without the key. Heads are chained among themselves: one signature vouches for all heads before it.
// A head also says where the log stood (segment, bytes, open intents), so that the next writer reads only what came after.
import { createPublicKey, sign, verify } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { addBytes, headsPath, readFrom, sizeOf, syncDirectory, type Added, type AuditPlace } from './files.ts'
import type { SigningKey } from './keys.ts'
import { beforeFirst, sha256 } from './record.ts'
import { unavailable } from './refusal.ts'

/** Where an intent that has not ended stands: its seq, its segment, and the offset of its line. */
export type OpenPlace = readonly [seq: number, segment: number, offset: number]

export interface AuditHead {
  readonly seq: number
  readonly hash: string
  readonly segment: number
  /** Size of the segment up to and with the record. */
  readonly bytes: number
  readonly open: readonly OpenPlace[]
  readonly time: string
  /** Fingerprint of the key. */
  readonly key: string
  /** SHA-256 of the line of the head before. */
  readonly prev: string
  readonly signature: string
}

export interface LastHead {
  readonly head: AuditHead | undefined
  /** What the next head points at. */
  readonly lineHash: string
  /** Size of the file up to and with the last whole line. */
  readonly bytes: number
  /** Bytes behind it that are no whole line. */
  readonly torn: number
}

const domain = Buffer.from('glovebox-audit-head/1\n')
/** More than one line can be: a thousand open intents at thirty characters each. */
const longestLine = 64 * 1024

type Unsigned = Omit<AuditHead, 'signature' | 'key'>

export function signHead(head: Unsigned, key: SigningKey): { readonly head: AuditHead; readonly line: Buffer } {
  const { seq, hash, segment, bytes, open, time, prev } = head
  const body = JSON.stringify({ seq, hash, segment, bytes, open, time, key: key.fingerprint, prev }).slice(0, -1)
  const signature = sign(null, Buffer.concat([domain, Buffer.from(body)]), key.privateKey).toString('hex')
  const line = Buffer.from(`${body},"signature":"${signature}"}\n`)
  return { head: { ...head, key: key.fingerprint, signature }, line }
}

export type SignedHead = ReturnType<typeof signHead>

export async function addHead(place: AuditPlace, last: LastHead, made: SignedHead): Promise<Added> {
  const path = headsPath(place)
  if (sizeOf(path) === undefined) {
    closeSync(openSync(path, 'ax', 0o600))
    syncDirectory(dirname(path))
  }
  return addBytes(path, last.bytes, made.line)
}

export const afterHead = (last: LastHead, { head, line }: SignedHead): LastHead => ({
  head,
  lineHash: sha256(line.subarray(0, -1)),
  bytes: last.bytes + line.length,
  torn: 0,
})

export function readLastHead(place: AuditPlace, key: SigningKey): LastHead {
  const size = sizeOf(headsPath(place)) ?? 0
  const from = Math.max(0, size - 2 * longestLine)
  const bytes = size === 0 ? Buffer.alloc(0) : readFrom(headsPath(place), from, size - from)
  const end = bytes.lastIndexOf(0x0a) + 1
  const start = end === 0 ? 0 : bytes.subarray(0, end - 1).lastIndexOf(0x0a) + 1
  const torn = bytes.length - end
  if (end === 0 && from > 0) throw unavailable('its heads are damaged', headsPath(place))
  if (end === 0) return { head: undefined, lineHash: beforeFirst.hash, bytes: 0, torn }
  const line = bytes.subarray(start, end - 1)
  return { head: trusted(place, line, key), lineHash: sha256(line), bytes: from + end, torn }
}

const signatureForm = /,"signature":"([0-9a-f]{128})"\}$/

/** SECURITY: a head decides from where the log is read on. src/audit/heads: "a head that the key did not sign is refused" */
function trusted(place: AuditPlace, line: Buffer, key: SigningKey): AuditHead {
  const text = line.toString()
  const found = signatureForm.exec(text)
  const body = Buffer.from(text.slice(0, found?.index ?? 0))
  const signature = Buffer.from(found?.[1] ?? '', 'hex')
  const isSigned = verify(null, Buffer.concat([domain, body]), createPublicKey(key.privateKey), signature)
  if (!isSigned) throw unavailable('its last head does not carry the signature of its key', headsPath(place))
  return JSON.parse(text) as AuditHead
}

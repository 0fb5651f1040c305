// Reading the log for people: the records in order, and on request those that are still to come. It believes what it reads;
// whether that can be believed is the verifier's question.
import { setTimeout as delay } from 'node:timers/promises'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { readFrom, segmentPath, sizeOf, type AuditPlace } from './files.ts'
import { unseal, type AuditRecord } from './record.ts'

export interface ReadOptions {
  /** With a signal it goes on, as records come, until the signal. */
  readonly follow?: AbortSignal
}

const chunkBytes = 1024 * 1024
const lookAgainMs = 200

export async function* readRecords(directory: HostPath, options: ReadOptions = {}): AsyncGenerator<AuditRecord> {
  const place: AuditPlace = { directory, keyDirectory: directory }
  let [segment, offset] = [1, 0]
  for (;;) {
    const bytes =
      sizeOf(segmentPath(place, segment)) === undefined
        ? Buffer.alloc(0)
        : readFrom(segmentPath(place, segment), offset, chunkBytes)
    const end = bytes.lastIndexOf(0x0a) + 1
    yield* recordsIn(bytes.subarray(0, end), { segment, offset })
    offset += end
    if (end > 0) continue
    if (sizeOf(segmentPath(place, segment + 1)) !== undefined) [segment, offset] = [segment + 1, 0]
    else if (options.follow === undefined || options.follow.aborted) return
    else await delay(lookAgainMs, undefined, { signal: options.follow }).catch(() => undefined)
  }
}

function* recordsIn(
  bytes: Buffer,
  from: { readonly segment: number; readonly offset: number },
): Generator<AuditRecord> {
  let start = 0
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    const record = unseal(bytes.subarray(start, end))
    if (record === undefined)
      throw new GloveboxError('RECORD_DAMAGED', 'Cannot show the audit log: a line in it is no record', {
        hint: 'Run: glovebox audit verify',
        operatorDetail: `segment ${from.segment}, byte ${from.offset + start}`,
      })
    yield record
    start = end + 1
  }
}

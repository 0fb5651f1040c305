// How the log's files look from outside. Whoever gave the lock back and finds them as they were need not read them again. An
// honest writer always makes a file longer, so the size alone would tell of one; the times tell of others too, but for what was
// changed in the very tick of the clock in which we wrote. Whether a log can be believed is the verifier's question.
import { existsSync, statSync } from 'node:fs'
import { isErrno } from '../paths/refusal.ts'
import { headsPath, segmentPath, type AuditPlace } from './files.ts'

export type Stamp = string

interface Known {
  readonly position: { readonly segment: number; readonly bytes: number }
  readonly last: { readonly bytes: number }
}

/** Undefined where the files are not as long as they should be, or missing: such a log is read. */
export function stampOf(place: AuditPlace, { position, last }: Known): Stamp | undefined {
  try {
    const segment = looks(segmentPath(place, position.segment), position.bytes)
    const heads = looks(headsPath(place), last.bytes)
    return segment === undefined || heads === undefined ? undefined : `${segment}\n${heads}`
  } catch (error) {
    if (isErrno(error)) return undefined
    throw error
  }
}

export const isAsStamped = (place: AuditPlace, known: Known, stamp: Stamp): boolean =>
  stampOf(place, known) === stamp && !existsSync(segmentPath(place, known.position.segment + 1))

/** Of the records alone: another process that signed a head has made only the heads longer. */
export function isSegmentAsStamped(place: AuditPlace, { position }: Known, stamp: Stamp): boolean {
  try {
    return looks(segmentPath(place, position.segment), position.bytes) === stamp.split('\n', 1)[0]
  } catch (error) {
    if (isErrno(error)) return false
    throw error
  }
}

function looks(path: string, bytes: number): string | undefined {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
  return size === BigInt(bytes) ? [dev, ino, size, mtimeNs, ctimeNs].join(' ') : undefined
}

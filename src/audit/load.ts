// What a writer knows of the log, and how it catches up with the disk. Only the lock's holder may come here: for anybody
// else the end of the log may be in the middle of being written.
import { mkdirSync } from 'node:fs'
import { headsPath, readFrom, segmentPath, sizeOf, type AuditPlace } from './files.ts'
import { readLastHead, type LastHead } from './heads.ts'
import { openKey, type SigningKey } from './keys.ts'
import { openIntents, type OpenIntents } from './open-intents.ts'
import { unavailable } from './refusal.ts'
import { setAside } from './repair.ts'
import { isAsStamped, isSegmentAsStamped, type Stamp } from './stamp.ts'
import { damaged, readTail, readWholeSegment, start, type Position } from './tail.ts'

export interface State {
  readonly key: SigningKey
  readonly intents: OpenIntents
  position: Position
  /** The last record known to be on disk. What another one wrote and was killed over may not be there yet. */
  durable: number
  last: LastHead
  /** How the files looked when we gave the lock back. */
  stamp: Stamp | undefined
}

export function load(place: AuditPlace): State {
  mkdirSync(place.directory, { recursive: true, mode: 0o700 })
  const key = openKey(place, { logExists: sizeOf(segmentPath(place, 1)) !== undefined })
  const last = mendHeads(place, readLastHead(place, key))
  const { head } = last
  const position =
    head === undefined ? start : { seq: head.seq, hash: head.hash, segment: head.segment, bytes: head.bytes }
  const intents = openIntents(place, head?.open ?? [])
  const state: State = { key, intents, position, durable: position.seq, last, stamp: undefined }
  follow(place, state)
  // The first record is signed before a second one is written, so a log without heads has lost them.
  if (head === undefined && state.position.seq > 1) throw unavailable('its signed heads are missing', headsPath(place))
  return state
}

/** Reads on from where we stand. Other processes only ever add. */
export function follow(place: AuditPlace, state: State): void {
  const { stamp } = state
  if (stamp !== undefined && isAsStamped(place, state, stamp)) return
  if (state.position.segment > 0) checkAnchor(place, state.position)
  if (stamp !== undefined) checkUntouched(place, state, stamp)
  followHeads(place, state)
  const tail = readTail(place, state.position)
  // A head is signed only after its record is on disk: if it is not there, it was taken away.
  if ((state.last.head?.seq ?? 0) > tail.position.seq) throw damaged(place, tail.position)
  for (const seen of tail.records) {
    state.intents.see(seen)
    state.durable = Math.max(state.durable, seen.record.durable)
  }
  state.position = tail.position
  // A head is signed only after its record is on disk.
  state.durable = Math.max(state.durable, state.last.head?.seq ?? 0)
  const { segment, bytes } = tail.position
  if (tail.torn !== undefined) setAside(place, segmentPath(place, segment), bytes, tail.torn)
}

function followHeads(place: AuditPlace, state: State): void {
  const size = sizeOf(headsPath(place)) ?? 0
  if (size < state.last.bytes) throw unavailable('its heads are fewer than they were', headsPath(place))
  if (size > state.last.bytes) state.last = mendHeads(place, readLastHead(place, state.key))
}

function mendHeads(place: AuditPlace, last: LastHead): LastHead {
  if (last.torn === 0) return last
  setAside(place, headsPath(place), last.bytes, readFrom(headsPath(place), last.bytes, last.torn))
  return { ...last, torn: 0 }
}

/** The record on which everything rests must still end where it ended. */
function checkAnchor(place: AuditPlace, position: Position): void {
  const end = Buffer.from(`,"hash":"${position.hash}"}\n`)
  const path = segmentPath(place, position.segment)
  if (sizeOf(path) === undefined || !readFrom(path, position.bytes - end.length, end.length).equals(end))
    throw damaged(place, position)
}

/**
 * Whoever is honest only adds. A segment that is as long as it was and yet not as it was has been written to by somebody else:
 * every record in it must still lead to the one that we know. One that is as it was is not read again: it may be large, and whoever
 * signs a head for it comes often.
 */
function checkUntouched(place: AuditPlace, state: State, stamp: Stamp): void {
  const { position, last, key } = state
  if (sizeOf(segmentPath(place, position.segment)) !== position.bytes) return
  if (!isSegmentAsStamped(place, state, stamp)) {
    const { seq, hash } = readWholeSegment(place, position.segment)
    if (seq !== position.seq || hash !== position.hash) throw damaged(place, position)
  }
  if (sizeOf(headsPath(place)) === last.bytes && readLastHead(place, key).lineHash !== last.lineHash)
    throw unavailable('its last head is not what it was', headsPath(place))
}

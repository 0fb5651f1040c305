// The intents that have no end yet. Whoever finds one whose process is gone ends it as `unknown`: nobody can know whether
// its effect took place, and a guess would be worse than not knowing.
import { dataText } from './entry.ts'
import { readFrom, segmentPath, type AuditPlace } from './files.ts'
import type { OpenPlace } from './heads.ts'
import { isGone, thisProcess } from './process-name.ts'
import { unseal, type AuditRecord, type Unsealed } from './record.ts'
import { unavailable } from './refusal.ts'
import type { Seen } from './tail.ts'

const longestRecord = 64 * 1024

export interface OpenIntents {
  readonly count: number
  countOf(actor: string): number
  see(seen: Seen): void
  places(): readonly OpenPlace[]
  /** The ends of those whose process is gone. */
  abandoned(): readonly Unsealed[]
}

export function openIntents(place: AuditPlace, known: readonly OpenPlace[]): OpenIntents {
  const own = thisProcess()
  const open = new Map<number, Seen>()
  const byActor = new Map<string, number>()
  const count = (actor: string, change: 1 | -1): void => {
    const sum = (byActor.get(actor) ?? 0) + change
    if (sum === 0) byActor.delete(actor)
    else byActor.set(actor, sum)
  }
  const add = (seen: Seen): void => {
    open.set(seen.record.seq, seen)
    count(seen.record.actor, 1)
  }
  const end = (seq: number): void => {
    const seen = open.get(seq)
    if (open.delete(seq) && seen !== undefined) count(seen.record.actor, -1)
  }
  for (const [, segment, offset] of known) add({ record: readRecord(place, segment, offset), segment, offset })
  return {
    get count() {
      return open.size
    },
    countOf: (actor) => byActor.get(actor) ?? 0,
    see(seen) {
      const { outcome, intent } = seen.record
      if (outcome === 'intent') add(seen)
      else if (intent !== null) end(intent)
    },
    places: () => [...open].map(([seq, { segment, offset }]) => [seq, segment, offset]),
    abandoned() {
      // Asked once per process and not per intent: a busy process may have hundreds of them open.
      const names = new Set([...open.values()].map(({ record }) => record.by))
      const gone = new Set([...names].filter((by) => by !== own && isGone(by)))
      return [...open.values()].filter(({ record }) => gone.has(record.by)).map(({ record }) => unknownEnd(record))
    },
  }
}

const unknownEnd = ({ seq, actor, action, subject }: AuditRecord): Unsealed => ({
  actor,
  action,
  subject,
  outcome: 'unknown',
  intent: seq,
  by: null,
  dataText: dataText({ reason: 'the process ended first' }),
})

function readRecord(place: AuditPlace, segment: number, offset: number): AuditRecord {
  const bytes = readFrom(segmentPath(place, segment), offset, longestRecord)
  const record = unseal(bytes.subarray(0, Math.max(0, bytes.indexOf(0x0a))))
  if (record === undefined)
    throw unavailable('it is damaged where an open intent stood', `${segmentPath(place, segment)}, byte ${offset}`)
  return record
}

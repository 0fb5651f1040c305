// The chain on disk, for whoever holds the log's lock: catch up with what others wrote, add records, begin segments, sign.
// Promises that what it added is on disk when it returns, and that a refusal leaves the log as it was. After a sync that
// failed nothing can be promised any more, so it refuses everything from then on. It knows nothing of callers and waiting.
import { dataText } from './entry.ts'
import { addBytes, placeFile, segmentPath, type Added, type AuditPlace } from './files.ts'
import { addHead, afterHead, signHead, type AuditHead } from './heads.ts'
import { follow, load, type State } from './load.ts'
import { seal, unseal, type AuditRecord, type Sealed, type Unsealed } from './record.ts'
import { unavailable } from './refusal.ts'
import { ownRecord, unrecordedRepairs, type Repair } from './repair.ts'
import type { Position } from './tail.ts'

export interface ChainOptions extends AuditPlace {
  readonly maxSegmentBytes: number
  readonly now: () => Date
}

export interface Chain {
  readonly head: AuditHead | undefined
  /** Records that no head covers yet. */
  readonly unsigned: number
  readonly openCount: number
  /** Looks at the disk. Comes first whenever the lock was taken. */
  catchUp(): Promise<void>
  /** What must be recorded before anything else: repairs, and ends of intents whose process is gone. */
  debts(): { readonly repairs: readonly Repair[]; readonly ends: readonly Unsealed[] }
  /** Writes as many as fit the segment, at least one, and gives back those. Throws the kernel's own error. */
  add(records: readonly Unsealed[]): Promise<readonly AuditRecord[]>
  sign(): Promise<void>
}

export function openChain(options: ChainOptions): Chain {
  let state: State | undefined
  let failure: Error | undefined

  const ready = (): State => {
    if (failure !== undefined) throw failure
    if (state === undefined) throw unavailable('it has not been read yet')
    return state
  }

  const demandDurable = (added: Added): void => {
    if (added === 'durable') return
    if ('refused' in added) throw added.refused
    failure = unavailable('the disk failed, and what it kept is uncertain', String(added.uncertain))
    throw failure
  }

  const sign = async (to: State): Promise<void> => {
    const { position, last, key } = to
    if (last.head?.seq === position.seq) return
    const { seq, hash, segment, bytes } = position
    const time = options.now().toISOString()
    const made = signHead({ seq, hash, segment, bytes, open: to.intents.places(), time, prev: last.lineHash }, key)
    demandDurable(await addHead(options, last, made))
    to.last = afterHead(last, made)
  }

  const beginSegment = async (to: State): Promise<void> => {
    const segment = to.position.segment + 1
    const begin = ownRecord('audit.segment', `segment ${segment}`, dataText({ format: 1, key: to.key.fingerprint }))
    const sealed = seal(begin, to.position, { time: options.now().toISOString(), durable: to.position.seq })
    placeFile(segmentPath(options, segment), sealed.bytes)
    to.position = { seq: sealed.seq, hash: sealed.hash, segment, bytes: sealed.bytes.length }
    await sign(to)
  }

  const advance = (to: State, sealed: Sealed): AuditRecord => {
    const { segment, bytes: offset } = to.position
    to.position = { seq: sealed.seq, hash: sealed.hash, segment, bytes: offset + sealed.bytes.length }
    const record = unseal(sealed.bytes.subarray(0, -1))
    if (record === undefined) throw unavailable('a record that was just written cannot be read')
    to.intents.see({ record, segment, offset })
    return record
  }

  return {
    get head() {
      return state?.last.head
    },
    get unsigned() {
      return state === undefined ? 0 : state.position.seq - (state.last.head?.seq ?? 0)
    },
    get openCount() {
      return state?.intents.count ?? 0
    },
    async catchUp() {
      if (failure !== undefined) throw failure
      if (state === undefined) state = load(options)
      else follow(options, state)
      if (state.position.segment === 0) await beginSegment(state)
      if (state.last.head === undefined) await sign(state)
    },
    debts: () => ({ repairs: unrecordedRepairs(options), ends: ready().intents.abandoned() }),
    async add(records) {
      const to = ready()
      const time = options.now().toISOString()
      if (sealUpTo(options.maxSegmentBytes, records, to.position, time).length === 0) await beginSegment(to)
      const fitting = sealUpTo(options.maxSegmentBytes, records, to.position, time)
      // A record that is larger than a segment may be has one to itself.
      const sealed = fitting.length > 0 ? fitting : sealUpTo(Infinity, records.slice(0, 1), to.position, time)
      const { segment, bytes } = to.position
      const joined = Buffer.concat(sealed.map((each) => each.bytes))
      demandDurable(await addBytes(segmentPath(options, segment), bytes, joined))
      return sealed.map((each) => advance(to, each))
    },
    sign: () => sign(ready()),
  }
}

function sealUpTo(most: number, records: readonly Unsealed[], from: Position, time: string): readonly Sealed[] {
  const sealed: Sealed[] = []
  let size = from.bytes
  for (const record of records) {
    const next = seal(record, sealed.at(-1) ?? from, { time, durable: from.seq })
    size += next.bytes.length
    if (size > most) break
    sealed.push(next)
  }
  return sealed
}

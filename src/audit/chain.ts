// The chain on disk, for whoever holds the log's lock: catch up with what others wrote, add records, begin segments, sign.
// Promises that what it wrote is on disk once a later `sync` has returned, and that a refusal leaves the log as it was. After a
// sync that failed nothing can be promised any more, so it refuses everything from then on. It knows nothing of callers and waiting.
import { dataText } from './entry.ts'
import { placeFile, segmentPath, type Added, type AuditPlace, type Written } from './files.ts'
import { addHead, afterHead, signHead, type AuditHead } from './heads.ts'
import { follow, load, type State } from './load.ts'
import { seal, type AuditRecord, type Sealed, type Unsealed } from './record.ts'
import { unavailable } from './refusal.ts'
import { ownRecord, unrecordedRepairs, type Repair } from './repair.ts'
import { openSegmentFile, type SegmentFile } from './segment-file.ts'
import { stampOf } from './stamp.ts'

export interface ChainOptions extends AuditPlace {
  readonly maxSegmentBytes: number
  readonly now: () => Date
}

export interface Chain {
  readonly head: AuditHead | undefined
  /** Records that no head covers yet. */
  readonly unsigned: number
  readonly openCount: number
  openOf(actor: string): number
  /** Looks at the disk. Comes first whenever the lock was taken. */
  catchUp(): Promise<void>
  /** What must be recorded before anything else: repairs, and ends of intents whose process is gone. */
  debts(): { readonly repairs: readonly Repair[]; readonly ends: readonly Unsealed[] }
  /** Writes as many as fit the segment, at least one, and gives back those. Throws the kernel's own error. */
  write(records: readonly Unsealed[]): Promise<readonly AuditRecord[]>
  /** What was written before is on disk. May go on beside a `write`. */
  sync(): Promise<void>
  /** Of what is on disk: syncs first. */
  sign(): Promise<void>
  /** Comes last before the lock is given back, when everything is synced. */
  rest(): void
}

export function openChain(options: ChainOptions): Chain {
  let state: State | undefined
  let failure: Error | undefined
  let file: SegmentFile | undefined
  let isCaughtUp = false

  const ready = (): State => {
    if (failure !== undefined) throw failure
    if (state === undefined) throw unavailable('it has not been read yet')
    return state
  }

  const fail = (why: unknown): Error =>
    (failure ??= unavailable('the disk failed, and what it kept is uncertain', String(why)))

  const demand = (added: Added | Written): void => {
    if (typeof added === 'string') return
    if ('refused' in added) throw added.refused
    throw fail(added.uncertain)
  }

  const fileOf = ({ position }: State): SegmentFile =>
    (file ??= openSegmentFile(segmentPath(options, position.segment)))

  const letGo = (): void => {
    file?.close()
    file = undefined
  }

  const sync = async (to: State): Promise<void> => {
    const { seq } = to.position
    if (to.durable >= seq) return
    try {
      await fileOf(to).sync()
    } catch (error) {
      throw fail(error)
    }
    to.durable = Math.max(to.durable, seq)
  }

  const sign = async (to: State): Promise<void> => {
    const { position, last, key } = to
    if (last.head?.seq === position.seq) return
    await sync(to)
    const { seq, hash, segment, bytes } = position
    const time = options.now().toISOString()
    const made = signHead({ seq, hash, segment, bytes, open: to.intents.places(), time, prev: last.lineHash }, key)
    demand(await addHead(options, last, made))
    to.last = afterHead(last, made)
  }

  const beginSegment = async (to: State): Promise<void> => {
    if (to.position.segment > 0) await sync(to)
    letGo()
    const segment = to.position.segment + 1
    const begin = ownRecord('audit.segment', `segment ${segment}`, dataText({ format: 1, key: to.key.fingerprint }))
    const sealed = seal(begin, to.position, { time: options.now().toISOString(), durable: to.durable })
    placeFile(segmentPath(options, segment), sealed.bytes)
    to.position = { seq: sealed.seq, hash: sealed.hash, segment, bytes: sealed.bytes.length }
    to.durable = sealed.seq
    await sign(to)
  }

  const advance = (to: State, sealed: Sealed): AuditRecord => {
    const { segment, bytes: offset } = to.position
    to.position = { seq: sealed.seq, hash: sealed.hash, segment, bytes: offset + sealed.bytes.length }
    to.intents.see({ record: sealed.record, segment, offset })
    return sealed.record
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
    openOf: (actor) => state?.intents.countOf(actor) ?? 0,
    async catchUp() {
      isCaughtUp = false
      if (failure !== undefined) throw failure
      if (state === undefined) state = load(options)
      else follow(options, state)
      if (state.position.segment === 0) await beginSegment(state)
      if (state.last.head === undefined) await sign(state)
      isCaughtUp = true
    },
    debts: () => ({ repairs: unrecordedRepairs(options), ends: ready().intents.abandoned() }),
    async write(records) {
      const to = ready()
      const time = options.now().toISOString()
      let sealed = sealUpTo(options.maxSegmentBytes, records, to, time)
      if (sealed.length === 0) {
        await beginSegment(to)
        sealed = sealUpTo(options.maxSegmentBytes, records, to, time)
      }
      // A record that is larger than a segment may be has one to itself.
      if (sealed.length === 0) sealed = sealUpTo(Infinity, records.slice(0, 1), to, time)
      demand(fileOf(to).write(to.position.bytes, Buffer.concat(sealed.map((each) => each.bytes))))
      return sealed.map((each) => advance(to, each))
    },
    sync: async () => sync(ready()),
    sign: async () => sign(ready()),
    rest() {
      letGo()
      // What was found damaged stays so: its stamp is not taken for that of a sound log.
      if (state !== undefined && isCaughtUp) state.stamp = stampOf(options, state)
    },
  }
}

function sealUpTo(
  most: number,
  records: readonly Unsealed[],
  { position, durable }: Pick<State, 'position' | 'durable'>,
  time: string,
): readonly Sealed[] {
  const sealed: Sealed[] = []
  let size = position.bytes
  for (const record of records) {
    const next = seal(record, sealed.at(-1) ?? position, { time, durable })
    size += next.bytes.length
    if (size > most) break
    sealed.push(next)
  }
  return sealed
}

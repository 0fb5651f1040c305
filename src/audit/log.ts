// The audit log of a state home, open for writing. Promises (class D0): an append that was answered is on disk, in order,
// chained to everything before it; one that was refused left nothing behind; nothing is begun that has no room for its end, and
// nothing whose intent is not written; and while the disk is full, what makes room is. All that wait at one time share one sync. Any number of processes may have it open; they take turns.
// It must not know what the actions mean, nor print, nor decide whether a refusal stops the caller: callers fail closed.
import { isGloveboxError } from '../errors/error.ts'
import { openChain } from './chain.ts'
import { checkEntry, type AuditEntry } from './entry.ts'
import type { AuditPlace } from './files.ts'
import type { AuditHead } from './heads.ts'
import { ownIntent, type Ending, type Intent, type OwnIntent, type WrittenIntent } from './intent.ts'
import { openLeases } from './lease.ts'
import { thisProcess } from './process-name.ts'
import { openQueue, type AddOptions, type Adding } from './queue.ts'
import type { AuditRecord, Unsealed } from './record.ts'
import { unavailable } from './refusal.ts'
import { openReserve } from './reserve.ts'

export interface AuditLogOptions extends AuditPlace {
  /** How long to wait for another process before BUSY. */
  readonly waitMs?: number
  readonly maxSegmentBytes?: number
  /** A head is signed after so many records, or so long after the first that has none. */
  readonly headEvery?: { readonly records: number; readonly ms: number }
  /** A process that writes all the time may keep its turn for so long after each record. Default 0. */
  readonly lingerMs?: number
  readonly now?: () => Date
}

export type { Intent, WrittenIntent } from './intent.ts'

/** Of what deletes or ends, and takes no room for itself: it is recorded on a full disk, too. */
export type Beginning = Pick<AddOptions, 'makesRoom'>

export interface AuditLog extends AsyncDisposable {
  /** The newest head that this process knows. */
  readonly head: AuditHead | undefined
  /** For what has no effect to wait for: a refusal, a sign-in. */
  append(entry: AuditEntry, outcome?: 'done' | 'failed'): Promise<AuditRecord>
  /** Before the effect. If it is refused, the effect must not take place. */
  begin(entry: AuditEntry, how?: Beginning): Promise<Intent>
  /** For an effect that is quick: the intent stands in the log, and the disk is waited for while the effect is under way. */
  beginWritten(entry: AuditEntry, how?: Beginning): Promise<WrittenIntent>
  /** Intent, effect, outcome. An effect that throws is recorded as failed, and its error passed on. */
  perform<T>(entry: AuditEntry, effect: (intent: Intent) => Promise<T>, how?: Beginning): Promise<T>
  /** Ends what is still open here as unknown, signs, and lets go. */
  close(): Promise<void>
}

const defaults = {
  waitMs: 10_000,
  maxSegmentBytes: 16 * 1024 * 1024,
  headEvery: { records: 256, ms: 1000 },
  lingerMs: 0,
  now: () => new Date(),
} as const

export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const settled = { ...defaults, ...options }
  const chain = openChain(settled)
  const reserve = openReserve(settled)
  const queue = openQueue({
    place: settled,
    chain,
    reserve,
    leases: openLeases({ place: settled, reserve, waitMs: settled.waitMs }),
    headEvery: settled.headEvery,
    lingerMs: settled.lingerMs,
  })
  const own = new Map<number, OwnIntent>()
  const by = thisProcess()
  let closing: Promise<void> | undefined

  const requireOpen = (): void => {
    if (closing !== undefined) throw unavailable('it has been closed')
  }

  const endOf = async (end: Unsealed, how: Ending): Promise<AuditRecord> => {
    const record = await durably(queue.add(end, how))
    if (end.intent !== null) own.delete(end.intent)
    return record
  }

  const beginWritten = async (entry: AuditEntry, how?: Beginning): Promise<WrittenIntent> => {
    requireOpen()
    const { written, durable } = queue.add({ ...checkEntry(entry), outcome: 'intent', intent: null, by }, how)
    const begun = ownIntent(await written, endOf)
    own.set(begun.intent.seq, begun)
    return { ...begun.intent, onDisk: () => durable }
  }

  const begin = async (entry: AuditEntry, how?: Beginning): Promise<Intent> => {
    const intent = await beginWritten(entry, how)
    await intent.onDisk()
    return intent
  }

  const closeAll = async (): Promise<void> => {
    try {
      await Promise.all([...own.values()].map((intent) => intent.close()))
    } finally {
      await queue.close()
    }
  }

  const log: AuditLog = {
    get head() {
      return chain.head
    },
    async append(entry, outcome = 'done') {
      requireOpen()
      return durably(queue.add({ ...checkEntry(entry), outcome, intent: null, by: null }))
    },
    begin,
    beginWritten,
    async perform(entry, effect, how) {
      const intent = await begin(entry, how)
      let result
      try {
        result = await effect(intent)
      } catch (error) {
        await intent.failed(isGloveboxError(error) ? { code: error.code } : {})
        throw error
      }
      await intent.done()
      return result
    },
    close: () => (closing ??= closeAll()),
    [Symbol.asyncDispose]: () => log.close(),
  }
  await queue.start()
  return log
}

async function durably({ written, durable }: Adding): Promise<AuditRecord> {
  await durable
  return written
}

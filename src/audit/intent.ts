// An intent that was begun here, and its one end.
import { dataText, type AuditData } from './entry.ts'
import type { AuditRecord, Outcome, Unsealed } from './record.ts'
import { unavailable } from './refusal.ts'

export interface Ending {
  /** It may share the sync of whatever is recorded next, at latest when the log is given back: that is soon. */
  readonly isPatient?: boolean
}

/** Each end settles when it is on disk. */
export interface Intent {
  readonly seq: number
  done(data?: AuditData, how?: Ending): Promise<AuditRecord>
  failed(data?: AuditData, how?: Ending): Promise<AuditRecord>
  unknown(data?: AuditData, how?: Ending): Promise<AuditRecord>
}

export interface WrittenIntent extends Intent {
  /** Before anybody is told of the effect. If it throws, the effect has no certain record, and must be taken back. */
  onDisk(): Promise<void>
}

export interface OwnIntent {
  readonly intent: Intent
  /** Waits for an end that is under way; what has none ends as unknown. */
  close(): Promise<void>
}

export function ownIntent(begun: AuditRecord, record: (end: Unsealed, how: Ending) => Promise<AuditRecord>): OwnIntent {
  const { seq, actor, action, subject } = begun
  let ended: Outcome | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  const write = async (end: Unsealed, how: Ending): Promise<AuditRecord> => {
    try {
      return await record(end, how)
    } catch (error) {
      ended = undefined
      throw error
    }
  }
  const end = async (outcome: Outcome, data: AuditData = {}, how: Ending = {}): Promise<AuditRecord> => {
    const text = dataText(data)
    if (ended !== undefined) throw unavailable(`intent ${seq} has already ended as ${ended}`)
    ended = outcome
    const writing = write({ actor, action, subject, outcome, intent: seq, by: null, dataText: text }, how)
    underWay = writing.catch(() => undefined)
    return writing
  }
  return {
    intent: {
      seq,
      done: (data, how) => end('done', data, how),
      failed: (data, how) => end('failed', data, how),
      unknown: (data, how) => end('unknown', data, how),
    },
    async close() {
      await underWay
      if (ended === undefined) await end('unknown', { reason: 'the log was closed first' })
    },
  }
}

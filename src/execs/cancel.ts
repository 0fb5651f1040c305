// Cancelling. An exec that runs is stopped by whoever has it. One that waits is first taken out of the queue, so that nobody begins it;
// then its files say that it was cancelled, and then its row, as at every other end: nobody is told of an end that an index made anew
// from the files would not know. A server that dies in between leaves a row that says what was asked for, and the next one ends it.
import { setTimeout as delay } from 'node:timers/promises'
import { hasEnded, type ExecRow } from '../contract/store.ts'
import { finishExec, type FinishParts, type Finished } from './finish.ts'
import { isFull } from './storage-fault.ts'
import type { Work } from './work.ts'

export interface CancelParts extends FinishParts {
  readonly self: string
  readonly work: Pick<Work, 'stop' | 'ended'>
  /** What was kept for it is let go of. */
  take(execId: string): unknown
  readonly onChange: (execId: string) => void
}

export interface Cancelling {
  /** The exec as it is then. */
  cancel(execId: string): Promise<ExecRow | undefined>
  /** One that was taken out of the queue; again does no harm. Never rejects. */
  end(row: ExecRow): Promise<void>
  /** When nothing more of it is under way. */
  settled(): Promise<unknown>
}

const withinMs = 10_000

export function openCancelling(parts: CancelParts): Cancelling {
  const { store, work } = parts
  const ending = new Map<string, Promise<void>>()

  const endOne = async (row: ExecRow): Promise<void> => {
    parts.take(row.exec_id)
    parts.failpoint('exec.cancel.beforeFiles')
    await finishExec(parts, row, cancelledUnbegun(row))
    parts.onChange(row.exec_id)
  }
  const end: Cancelling['end'] = (row) => {
    const under = ending.get(row.exec_id)
    if (under !== undefined) return under
    const mine = endOne(row)
      .catch((error: unknown) => parts.log(`the end of ${row.exec_id} could not be written`, error))
      .finally(() => ending.delete(row.exec_id))
    ending.set(row.exec_id, mine)
    return mine
  }

  /** Even the wish takes room, and the end that it leads to may make some. */
  const request = async (execId: string): Promise<ExecRow | undefined> => {
    const ask = () => store.execs.requestCancel(execId, { by: parts.self, at: parts.now().toISOString() })
    try {
      return await ask()
    } catch (error) {
      if (!isFull(error) || !parts.reserve.release()) throw error
    }
    try {
      return await ask()
    } catch (error) {
      // The database lies on another disk.
      parts.reserve.renew()
      throw error
    }
  }

  return {
    end,
    settled: () => Promise.all(ending.values()),
    async cancel(execId) {
      const before = await store.execs.find(execId)
      if (before === undefined || hasEnded(before.status)) return before
      const row = await request(execId)
      if (row === undefined || hasEnded(row.status)) return row
      work.stop(execId, 'cancelled')
      const isOurs = row.status === 'QUEUED' && row.owner === parts.self
      await Promise.race([isOurs ? end(row) : work.ended(execId), delay(withinMs, undefined, { ref: false })])
      return store.execs.find(execId)
    },
  }
}

/** It ended when it was cancelled: whoever writes it down, however late and often, writes the same. */
export const cancelledUnbegun = (row: ExecRow): Finished => ({
  status: 'CANCELLED',
  error_reason: 'cancelled',
  exit_code: null,
  duration_ms: null,
  stdout_truncated: false,
  stderr_truncated: false,
  ...(row.cancel_requested_at === null ? {} : { ended_at: row.cancel_requested_at }),
})

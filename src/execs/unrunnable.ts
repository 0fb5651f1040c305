// What is left in the queue of a server that stops, and that no other can run: what it needs is in no record and goes with this process.
// Whatever needs nothing of that waits for the next server.
import type { ExecRow, Store } from '../contract/store.ts'
import type { Cancelling } from './cancel.ts'
import { finishExec, type FinishParts } from './finish.ts'
import { needsUnrecorded } from './unrecorded.ts'

export interface UnrunnableParts extends FinishParts {
  readonly self: string
  readonly cancelling: Pick<Cancelling, 'end'>
}

const pageRows = 200

/** Those that cannot be written are left as they are, and the next server ends them as it can. */
export async function endUnrunnable(parts: UnrunnableParts): Promise<void> {
  let { mostTries } = parts
  for await (const row of queuedFor(parts)) {
    if (row.cancel_requested_at !== null) await parts.cancelling.end(row)
    else if (needsUnrecorded(row))
      await endDrained({ ...parts, mostTries }, row).catch((error: unknown) => {
        parts.log(`the end of ${row.exec_id} could not be written`, error)
        // One has waited for the disk or the database for all of them.
        mostTries = 1
      })
  }
}

async function* queuedFor({ store, self }: UnrunnableParts): AsyncGenerator<ExecRow> {
  let after: Parameters<Store['execs']['list']>[1]['after']
  for (;;) {
    const page = await store.execs.list({ owner: self, status: ['QUEUED'] }, { limit: pageRows, after })
    yield* page.rows
    if (page.next === null) return
    after = page.next
  }
}

const endDrained = (parts: FinishParts, row: ExecRow): Promise<unknown> =>
  finishExec(parts, row, {
    status: 'CANCELLED',
    error_reason: 'drained',
    exit_code: null,
    duration_ms: null,
    stdout_truncated: false,
    stderr_truncated: false,
  })

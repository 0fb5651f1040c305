// How a run comes to its end: the outcome of the work becomes a state, with the audit log as witness.
import { needsOwner, type RunRecord, type RunStatus } from '../../contract/run.ts'
import type { Outcome } from '../../contract/executor.ts'
import type { Run, TransitionOptions } from '../../runs/run.ts'
import type { AuditLog } from '../audit.ts'

const maxSummaryCharacters = 1000

export interface EndingOptions {
  readonly run: Run
  readonly audit: AuditLog
  readonly outcome: Outcome
  /** A run that went well waits for a person. */
  readonly review: boolean
}

export interface Ended {
  readonly record: RunRecord
  readonly error?: unknown
}

export async function endRun({ run, audit, outcome, review }: EndingOptions): Promise<Ended> {
  const to = stateFor(run.record.status, outcome, review)
  const asked = transitionFor(outcome)
  const subject = run.record.run_id
  let intent
  try {
    intent = await audit.begin({ actor: 'runtime', action: 'run.end', subject, data: { wanted: to } })
  } catch (error) {
    // Nobody may take for completed what has no witness, and nobody is helped by a run that never ends.
    const record = await run.transition('failed', { ...asked, reason: 'audit_unavailable' })
    return { record, error }
  }
  try {
    const record = await run.transition(to, asked)
    const { status, failure_reason, state_seq, state_hash } = record
    await intent.done({ status, reason: failure_reason, seq: state_seq, hash: state_hash })
    return { record }
  } catch (error) {
    // It has ended, and the log could not be told so: that is what the log says of an intent without an outcome.
    if (needsOwner(run.record.status)) await intent.failed({ status: run.record.status })
    throw error
  }
}

/** A run that never began to work cannot be lost: everything about it is known. */
function stateFor(status: RunStatus, outcome: Outcome, review: boolean): RunStatus {
  if (status === 'pending') return outcome.status === 'cancelled' ? 'cancelled' : 'failed'
  return outcome.status === 'completed' && review ? 'review_required' : outcome.status
}

function transitionFor({ status, reason, summary, exitCode }: Outcome): TransitionOptions {
  const isNeeded = status === 'failed' || status === 'lost'
  return {
    summary: summary.slice(0, maxSummaryCharacters),
    ...(reason === undefined && !isNeeded ? {} : { reason: reason ?? 'unknown' }),
    data: exitCode === undefined ? {} : { exit_code: exitCode },
  }
}

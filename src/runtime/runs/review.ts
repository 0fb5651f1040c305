// What a person decides about runs, recorded twice: in the run's own events, and in the audit log of whoever decided.
import type { HostPath } from '../../contract/mount.ts'
import { approveRun, cancelWaitingRun, sendRunBack, type ApproveOptions, type Decided } from '../../runs/review.ts'
import { openAudit, type AuditData } from '../audit.ts'
import { stateHome } from '../state.ts'
import { reopenRun } from './reopen.ts'

export { planRevision, type Revision } from '../../runs/review.ts'

export interface Deciding {
  readonly directory: string
  readonly runId: string
  /** Where the audit log lies. Default: this operator's own. */
  readonly home?: HostPath
}

export const approve = (about: Deciding, options: ApproveOptions): Promise<Decided> =>
  audited('run.approve', about, () => approveRun(about.directory, options, reopenRun))

export const sendBack = (about: Deciding, message: string): Promise<Decided> =>
  audited('run.revise', about, () => sendRunBack(about.directory, message, reopenRun))

export const cancelWaiting = (about: Deciding): Promise<Decided> =>
  audited('run.cancel', about, () => cancelWaitingRun(about.directory, reopenRun))

/** Ends what crashed, and puts right what it left. */
export const recover = (about: Deciding): Promise<Decided> =>
  audited('run.recover', about, async () => {
    const { run, repairs } = await reopenRun(about.directory)
    await run.close()
    return { record: run.record, repairs }
  })

/** The intent is on disk before anything is done; without it nothing is done. */
export async function audited<Value>(
  action: string,
  { runId, home }: Deciding,
  work: () => Promise<Value>,
  data: AuditData = {},
): Promise<Value> {
  await using audit = await openAudit(home ?? stateHome())
  return await audit.perform({ actor: 'operator', action, subject: runId, data }, work)
}

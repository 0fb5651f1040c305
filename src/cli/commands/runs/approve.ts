// `glovebox runs approve`: a person has looked, and the run is completed, if what it owes is still there.
import { approve } from '../../../runtime/runs/review.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { aboutRun, tellRepairs } from './deciding.ts'
import { endedLine, type RunsFlags } from './told.ts'

export interface ApproveFlags extends RunsFlags {
  readonly message?: string
  readonly acceptChanges?: boolean
}

export async function runsApprove(directory: string, flags: ApproveFlags, doing: Doing): Promise<number> {
  const { message, acceptChanges } = flags
  const { record, repairs } = await approve(await aboutRun(directory), {
    ...(message === undefined ? {} : { message }),
    ...(acceptChanges === undefined ? {} : { acceptChanges }),
  })
  await tellRepairs(repairs, doing)
  await doing.face.out.write(flags.json === true ? jsonLine(record) : `${endedLine(record)}\n`)
  if (record.status === 'completed') return 0
  await doing.face.err.write('hint: A required deliverable does not count any more. `glovebox runs show` names it.\n')
  return 1
}

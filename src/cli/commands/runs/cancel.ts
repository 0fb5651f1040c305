// `glovebox runs cancel`: asks the process at work to end the run, and waits until it has. Without one, ends it here.
import { cancelRun, type Cancelled } from '../../../runtime/runs/words.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { watchInterrupts } from '../../signals.ts'
import { aboutRun, tellRepairs } from './deciding.ts'
import { endedLine, type RunsFlags } from './told.ts'

export interface CancelFlags extends RunsFlags {
  readonly timeout?: number
}

const customaryWaitMs = 30_000

export async function runsCancel(directory: string, flags: CancelFlags, doing: Doing): Promise<number> {
  const interrupts = watchInterrupts()
  try {
    const waiting = { waitMs: flags.timeout ?? customaryWaitMs, signal: interrupts.signal }
    const done = await cancelRun(await aboutRun(directory), waiting)
    await tellRepairs(done.repairs, doing)
    if (flags.json === true) await doing.face.out.write(jsonLine({ ...done.record, how: done.how }))
    else await doing.face.out.write(`${endedLine(done.record)}${remark(done)}\n`)
    return done.record.status === 'cancelled' ? 0 : 1
  } finally {
    interrupts.stop()
  }
}

function remark({ how, record }: Cancelled): string {
  if (how === 'before') return ', and was before'
  if (how === 'recovered') return ': its process was gone already'
  return record.status === 'cancelled' ? '' : ': it ended before it heard'
}

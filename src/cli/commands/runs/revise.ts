// `glovebox runs revise`: a person has looked, and wants the task done again.
import { sendBack } from '../../../runtime/runs/review.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { aboutRun, tellRepairs } from './deciding.ts'
import { callName, endedLine, type RunsFlags } from './told.ts'

export interface ReviseFlags extends RunsFlags {
  readonly message: string
}

export async function runsRevise(directory: string, flags: ReviseFlags, doing: Doing): Promise<number> {
  const { record, repairs } = await sendBack(await aboutRun(directory), flags.message)
  const next = `glovebox run --revises ${callName(directory, doing)}`
  await tellRepairs(repairs, doing)
  if (flags.json === true) await doing.face.out.write(jsonLine({ ...record, next }))
  else await doing.face.out.write(`${endedLine(record)}\nThe next attempt at the task:\n  $ ${next}\n`)
  return 0
}

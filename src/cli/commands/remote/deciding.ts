// `glovebox runs answer | approve | revise | cancel` of a server.
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { type AnswerFlags, pipedText } from '../runs/answer.ts'
import type { ApproveFlags } from '../runs/approve.ts'
import type { CancelFlags } from '../runs/cancel.ts'
import type { ReviseFlags } from '../runs/revise.ts'
import { endedLine } from '../runs/told.ts'
import { refuseLocal, sameServer } from './connect.ts'
import { findRun } from './find.ts'

export async function answerRemote(
  asked: string,
  text: string | undefined,
  flags: AnswerFlags,
  doing: Doing,
): Promise<number> {
  refuseTimeout(flags)
  const { glovebox, id } = await findRun(asked, flags, doing)
  const { question } = flags
  const told = await glovebox.runs.answer(id, text ?? (await pipedText()), question === undefined ? {} : { question })
  const { out, err } = doing.face
  await out.write(flags.json === true ? jsonLine(told) : `The question ${told.question} is answered.\n`)
  if (!told.taken) await err.write('glovebox: The answer was left; the run has not taken it yet.\n')
  return 0
}

export async function approveRemote(asked: string, flags: ApproveFlags, doing: Doing): Promise<number> {
  const { glovebox, id } = await findRun(asked, flags, doing)
  const { message, acceptChanges } = flags
  const record = await glovebox.runs.approve(id, {
    ...(message === undefined ? {} : { message }),
    ...(acceptChanges === undefined ? {} : { acceptChanges }),
  })
  await doing.face.out.write(flags.json === true ? jsonLine(record) : `${endedLine(record)}\n`)
  return record.status === 'completed' ? 0 : 1
}

export async function reviseRemote(asked: string, flags: ReviseFlags, doing: Doing): Promise<number> {
  const { glovebox, id } = await findRun(asked, flags, doing)
  const record = await glovebox.runs.revise(id, flags.message)
  const next = `glovebox run --revises ${id}${sameServer(flags)}`
  if (flags.json === true) await doing.face.out.write(jsonLine({ ...record, next }))
  else await doing.face.out.write(`${endedLine(record)}\nThe next attempt at the task:\n  $ ${next}\n`)
  return 0
}

export async function cancelRemote(asked: string, flags: CancelFlags, doing: Doing): Promise<number> {
  refuseTimeout(flags)
  const { glovebox, id } = await findRun(asked, flags, doing)
  const record = await glovebox.runs.cancel(id)
  await doing.face.out.write(flags.json === true ? jsonLine(record) : `${endedLine(record)}\n`)
  return record.status === 'cancelled' ? 0 : 1
}

const refuseTimeout = (flags: AnswerFlags | CancelFlags): void =>
  refuseLocal(flags, ['--timeout'], 'it has a patience of its own')

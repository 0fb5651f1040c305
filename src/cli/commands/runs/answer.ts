// `glovebox runs answer`: what a person says to a run that waits for them.
import { GloveboxError } from '../../../errors/error.ts'
import { maxAnswerBytes } from '../../../runs/inbox.ts'
import { answerRun } from '../../../runtime/runs/words.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { watchInterrupts } from '../../signals.ts'
import { pipedInput } from '../../stdin.ts'
import { aboutRun } from './deciding.ts'
import type { RunsFlags } from './told.ts'

export interface AnswerFlags extends RunsFlags {
  readonly question?: string
  readonly timeout?: number
}

const customaryWaitMs = 5000

export async function runsAnswer(
  directory: string,
  text: string | undefined,
  flags: AnswerFlags,
  { face }: Doing,
): Promise<number> {
  const interrupts = watchInterrupts()
  try {
    const answer = { text: text ?? (await pipedText()), question: flags.question }
    const waiting = { waitMs: flags.timeout ?? customaryWaitMs, signal: interrupts.signal }
    const { question, message, isTaken } = await answerRun(await aboutRun(directory), answer, waiting)
    if (flags.json === true) await face.out.write(jsonLine({ question, message, taken: isTaken }))
    else await face.out.write(`The question ${question.id} is answered.\n`)
    if (!isTaken) await face.err.write('glovebox: The answer was left; the run has not taken it yet.\n')
    return 0
  } finally {
    interrupts.stop()
  }
}

export async function pipedText(): Promise<string> {
  const input = pipedInput()
  if (input === undefined) throw refuse('there is no answer', 'Write it as an argument, or pipe it in.')
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of input) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) throw refuse(`the answer has more than ${maxAnswerBytes} bytes`, 'Make it shorter.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8').replace(/\n$/, '')
}

const refuse = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot answer the run: ${cause}`, { hint })

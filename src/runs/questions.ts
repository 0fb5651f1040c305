// Questions of a run to the person behind it, as its events tell them. Whoever asks writes `question_asked`; what closes a
// question is `question_answered`, or that the run no longer waits for anybody.
import { z } from 'zod'
import type { EventInput, RunEvent } from '../contract/event.ts'
import type { Question } from '../contract/executor.ts'
import { idSchema } from '../contract/run.ts'
import { readEvents } from './reader.ts'

const questionAsked = 'question_asked'
export const questionAnswered = 'question_answered'

/** Events are small: what a person is asked fits on a screen. */
const maxQuestionCharacters = 2000

const askedSchema = z.looseObject({
  question_id: idSchema,
  kind: z.enum(['question', 'approval']),
  text: z.string(),
  choices: z.array(z.string()).nullable(),
})

export interface AskedQuestion {
  readonly id: string
  readonly kind: Question['kind']
  readonly text: string
  /** Null: any text is an answer. */
  readonly choices: readonly string[] | null
  readonly askedAt: string
}

/** The event for `run.append`. */
export function askedEvent(id: string, { kind, text, choices }: Question): EventInput {
  const data = {
    question_id: id,
    kind,
    text: text.slice(0, maxQuestionCharacters),
    choices: choices === undefined ? null : [...choices],
  }
  return { type: questionAsked, actor: 'executor', summary: 'The run asks, and waits for an answer.', data }
}

/** The answer itself is the executor's; the log keeps that it came, and from which message. */
export function answeredEvent(id: string, messageId: string | null): EventInput {
  const data = { question_id: id, message_id: messageId }
  return { type: questionAnswered, actor: 'user', summary: 'The question was answered.', data }
}

/** Open ones, oldest first. */
export async function listOpenQuestions(directory: string): Promise<readonly AskedQuestion[]> {
  const open = new Map<string, AskedQuestion>()
  for await (const event of readEvents(directory)) note(open, event)
  return [...open.values()]
}

function note(open: Map<string, AskedQuestion>, event: RunEvent): void {
  if (event.type === 'run_ended') open.clear()
  const id = event.data['question_id']
  if (event.type === questionAnswered && typeof id === 'string') open.delete(id)
  if (event.type !== questionAsked) return
  const asked = askedSchema.safeParse(event.data)
  if (!asked.success) return
  const { question_id, kind, text, choices } = asked.data
  open.set(question_id, { id: question_id, kind, text, choices, askedAt: event.timestamp })
}

// What a run and the person behind it say to each other: questions with their answers, and the wish that the run ends.
// The person's words come through the run's inbox, so whoever can write there can answer, from any process.
import type { Question } from '../../contract/executor.ts'
import { GloveboxError } from '../../errors/error.ts'
import { followInbox, type Message } from '../../runs/inbox.ts'
import { answeredEvent, askedEvent } from '../../runs/questions.ts'
import type { Run } from '../../runs/run.ts'
import type { Phases } from './phases.ts'

export interface MailboxOptions {
  readonly run: Pick<Run, 'append' | 'directory'>
  readonly phases: Phases
  /** Ends the work of the run. */
  readonly cancel: () => void
  /** Once the work is to end, nobody waits for an answer. */
  readonly signal: AbortSignal
  readonly onQuestion?: ((asked: AskedHere) => void) | undefined
  /** Puts the answer of somebody in this process into the inbox, where all answers come from. */
  readonly leaveAnswer: (question: string, text: string) => Promise<void>
}

export interface AskedHere {
  /** Host path of the run that asks. */
  readonly directory: string
  readonly id: string
  readonly question: Question
  /** Aborted once nobody waits for an answer any more. */
  readonly signal: AbortSignal
  /** For whoever sits in front of this process. Others use the inbox of the run. */
  answer(text: string): Promise<void>
}

export interface Mailbox {
  ask(question: Question): Promise<string>
  close(): Promise<void>
}

type Answer = Extract<Message, { readonly kind: 'answer' }>

export function openMailbox(options: MailboxOptions): Mailbox {
  const { run, phases, signal } = options
  const closing = new AbortController()
  const waiting = new Map<string, (answer: Answer) => Promise<void>>()
  let count = 0

  const receive = async (message: Message): Promise<void> => {
    if (message.kind === 'answer') return waiting.get(message.question)?.(message)
    await run.append({
      type: 'cancel_requested',
      actor: 'user',
      summary: 'A person wants the run to end.',
      data: { message_id: message.id },
    })
    options.cancel()
  }
  const following = (async () => {
    for await (const message of followInbox(run.directory, { signal: closing.signal })) await receive(message)
  })()
  // A run that cannot hear its person must not go on as if nobody had spoken.
  following.catch(() => options.cancel())

  const answerTo = (id: string, question: Question): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiting.delete(id)
        reject(new GloveboxError('CANCELLED', 'Cannot wait for an answer: the run is being ended'))
      }
      if (signal.aborted) return giveUp()
      signal.addEventListener('abort', giveUp, { once: true })
      waiting.set(id, async (answer) => {
        if (question.choices !== undefined && !question.choices.includes(answer.text)) return refuse(id, answer)
        waiting.delete(id)
        signal.removeEventListener('abort', giveUp)
        resolve(answer)
      })
    })

  const refuse = async (id: string, { id: messageId }: Answer): Promise<void> => {
    await run.append({
      type: 'answer_refused',
      severity: 'warning',
      summary: 'The answer is none of those that are accepted.',
      data: { question_id: id, message_id: messageId },
    })
  }

  return {
    async ask(question) {
      const id = `q_${++count}`
      const answering = answerTo(id, question)
      // It is awaited below; until then a cancellation must not count as unhandled.
      answering.catch(() => {})
      await run.append(askedEvent(id, question))
      const leave = await phases.enter('user')
      const over = new AbortController()
      try {
        const answer = (text: string): Promise<void> => options.leaveAnswer(id, text)
        options.onQuestion?.({ directory: run.directory, id, question, signal: over.signal, answer })
        const answered = await answering
        await run.append(answeredEvent(id, answered.id))
        return answered.text
      } finally {
        over.abort()
        await leave()
      }
    },
    async close() {
      closing.abort()
      await following.catch(() => {})
    },
  }
}

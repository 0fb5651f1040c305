// Words to a run at which another process is at work: an answer to its question, and the wish that it ends. They are left
// in its inbox; what comes of them is read from its events.
import { isTerminal, type RunRecord } from '../../contract/run.ts'
import { GloveboxError } from '../../errors/error.ts'
import { didYouMean } from '../../errors/suggest.ts'
import { followEvents } from '../../runs/follow-events.ts'
import { leaveMessage, type Message } from '../../runs/inbox.ts'
import { ended } from '../../runs/machine.ts'
import { listOpenQuestions, questionAnswered, type AskedQuestion } from '../../runs/questions.ts'
import { lookAtRun, type RunLook } from './look.ts'
import { audited, cancelWaiting, recover, type Deciding } from './review.ts'

export interface Waiting {
  readonly waitMs: number
  readonly signal: AbortSignal
}

export interface Answer {
  readonly text: string
  /** Needed only where several are open. */
  readonly question?: string | undefined
}

export interface Answered {
  readonly question: AskedQuestion
  readonly message: Message
  /** The run has read it. False: it may yet, as long as its process lives. */
  readonly isTaken: boolean
}

export async function answerRun(about: Deciding, answer: Answer, waiting: Waiting): Promise<Answered> {
  const look = await lookAtRun(about.directory)
  const question = choose(await listOpenQuestions(about.directory), answer, look)
  checkChoice(question, answer.text)
  const message = await audited(
    'run.answer',
    about,
    () => leaveMessage(about.directory, { kind: 'answer', question: question.id, text: answer.text }),
    { question: question.id },
  )
  const isTaken = await happens(about.directory, look.events, waiting, ({ type, data }) => {
    return type === questionAnswered && data['question_id'] === question.id
  })
  return { question, message, isTaken }
}

function choose(open: readonly AskedQuestion[], { question }: Answer, look: RunLook): AskedQuestion {
  const status = look.record?.status ?? 'unreadable'
  if (look.isCrashed) throw cannotAnswer('the process that asked is gone', 'glovebox runs recover puts the run right.')
  const [first, second] = open
  if (first === undefined) throw cannotAnswer(`it asks nothing; it is ${status}`)
  if (question === undefined && second === undefined) return first
  const ids = open.map(({ id }) => id)
  if (question === undefined)
    throw new GloveboxError('INVALID_INPUT', `Cannot answer the run: it asks ${open.length} questions`, {
      hint: `Say which with --question: ${ids.join(', ')}.`,
    })
  const named = open.find(({ id }) => id === question)
  if (named !== undefined) return named
  throw new GloveboxError('NOT_FOUND', `Cannot answer the run: no open question is called "${question}"`, {
    hint: didYouMean(question, ids),
  })
}

function checkChoice({ choices }: AskedQuestion, text: string): void {
  if (choices === null || choices.includes(text)) return
  throw new GloveboxError('INVALID_INPUT', `Cannot answer the run: "${text.slice(0, 100)}" is none of its choices`, {
    hint: `Choose one of: ${choices.join(', ')}.`,
  })
}

const cannotAnswer = (cause: string, hint?: string): GloveboxError =>
  new GloveboxError('ILLEGAL_TRANSITION', `Cannot answer the run: ${cause}`, hint === undefined ? {} : { hint })

export interface Cancelled {
  readonly record: RunRecord
  /** `asked`: its process ended it. `here`: it waited for review. `recovered`: it had crashed. `before`: nothing was to do. */
  readonly how: 'asked' | 'here' | 'recovered' | 'before'
  readonly repairs: readonly string[]
}

/** Answers when the run has ended. TIMED_OUT when its process does not hear. */
export async function cancelRun(about: Deciding, waiting: Waiting): Promise<Cancelled> {
  const look = await lookAtRun(about.directory)
  if (look.record === null || look.damage !== null) throw frozen(look.damage)
  if (look.record.status === 'cancelled') return { record: look.record, how: 'before', repairs: [] }
  if (isTerminal(look.record.status)) throw ended(look.record.status)
  if (look.isCrashed) return { ...(await recover(about)), how: 'recovered' }
  if (look.pid === null) return { ...(await cancelWaiting(about)), how: 'here' }
  return audited('run.cancel', about, () => ask(about, look.events, waiting))
}

async function ask(about: Deciding, events: number, waiting: Waiting): Promise<Cancelled> {
  await leaveMessage(about.directory, { kind: 'cancel' })
  await happens(about.directory, events, waiting, ({ type }) => type === 'run_ended')
  const { record, isCrashed } = await lookAtRun(about.directory)
  if (isCrashed) return { ...(await recover(about)), how: 'recovered' }
  if (record !== null && isTerminal(record.status)) return { record, how: 'asked', repairs: [] }
  throw new GloveboxError('TIMED_OUT', 'Cannot cancel the run: its process was asked, and has not ended it yet', {
    hint: 'It may still do so. Wait longer with --timeout, or end the process: `glovebox runs show` names it.',
  })
}

/** A longer timer would fire at once. */
const longestTimerMs = 2 ** 31 - 1

/** False when the time is up, or when the run has ended without it. */
async function happens(
  directory: string,
  afterSeq: number,
  { waitMs, signal }: Waiting,
  isIt: (event: { readonly type: string; readonly data: Readonly<Record<string, unknown>> }) => boolean,
): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.min(waitMs, longestTimerMs))])
  for await (const event of followEvents(directory, { afterSeq, signal: limit })) if (isIt(event)) return true
  return false
}

const frozen = (damage: string | null): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', `Cannot cancel the run: ${damage ?? 'not even its first event can be read'}`, {
    hint: '`glovebox runs verify` tells more. Nothing was changed.',
  })

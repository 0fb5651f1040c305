// The loop itself: turn, calls, turn, until the model has nothing more to call, a budget is used up, or somebody cancels.
import type { Assignment, Outcome } from '../../contract/executor.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { askForTurn } from './ask.ts'
import { budgetLines } from './budget.ts'
import { performCalls } from './calls.ts'
import type { Endpoint } from './check.ts'
import { startClock, type Clock } from './clock.ts'
import type { ModelOptions } from './options.ts'
import { cleaner, oneLine } from './plain.ts'
import { addUsage, Ending, failed, newTally, note, say, totalTokens, type Session } from './session.ts'
import { systemPrompt } from './system-prompt.ts'
import { askUserTool, toolTable, type AskedQuestion, type ModelTool } from './tool.ts'
import { ending, opening, remark, stepHeading } from './transcript.ts'
import { openModel, type ModelMessage, type Turn } from './turn.ts'

export interface Work {
  readonly assignment: Assignment
  readonly endpoint: Endpoint
  readonly options: ModelOptions
  readonly tools: (sandbox: Sandbox) => readonly ModelTool[]
  readonly deliverables: readonly string[]
}

export async function work(given: Work): Promise<Outcome> {
  const clock = startClock(given.options.timeoutMs, given.assignment.signal)
  try {
    const session = await openSession(given, clock)
    say(session, opening(given.endpoint.model, given.assignment.prompt))
    await note(session, {
      type: 'model_started',
      summary: `Asking ${given.endpoint.model}`,
      data: { provider: given.endpoint.provider, model: given.endpoint.model, base_url: given.endpoint.baseUrl },
    })
    const outcome = await takeSteps(session).catch((error: unknown) => outcomeOf(error, clock, given.options))
    await tellEnd(session, outcome)
    return outcome
  } finally {
    clock.stop()
  }
}

async function openSession(
  { assignment, endpoint, options, tools, deliverables }: Work,
  clock: Clock,
): Promise<Session> {
  const { sandbox } = assignment
  const ask = (question: AskedQuestion): Promise<string> => clock.pauseFor(() => askPerson(assignment, question))
  const system = systemPrompt({ description: sandbox.describe(), deliverables, own: options.system })
  await assignment.recordSystemPrompt(system)
  return {
    assignment,
    options,
    system,
    tools: toolTable([...tools(sandbox), askUserTool(ask)]),
    takeTurn: openModel(endpoint),
    clock,
    clean: cleaner(endpoint.apiKey),
    messages: [{ role: 'user', content: assignment.prompt }],
    tally: newTally(),
  }
}

const askPerson = (assignment: Assignment, { question: text, choices }: AskedQuestion): Promise<string> =>
  assignment.ask({ kind: 'question', text, ...(choices === undefined ? {} : { choices }) })

async function takeSteps(session: Session): Promise<Outcome> {
  const { options, tally, messages, clock } = session
  while (tally.steps < options.maxSteps) {
    clock.signal.throwIfAborted()
    const step = ++tally.steps
    tellBudget(session)
    say(session, stepHeading(step))
    const begun = performance.now()
    const turn = await askForTurn(session, step)
    addUsage(tally, turn.usage)
    tellBudget(session)
    await noteStep(session, turn, performance.now() - begun)
    messages.push(...turn.messages)
    if (turn.calls.length > 0) messages.push(await performCalls(session, step, turn.calls))
    else if (isDone(turn)) return completed(session, turn)
    else messages.push(goOn(session))
    if (totalTokens(tally) >= options.maxTokens) {
      throw failed('budget_tokens', `The model used ${totalTokens(tally)} tokens, and may use ${options.maxTokens}.`)
    }
  }
  throw failed('budget_steps', `The model was not done after ${options.maxSteps} steps, which is all it may take.`)
}

const tellBudget = (session: Session): void => session.assignment.tellBudget?.(() => budgetLines(session))

async function noteStep(session: Session, turn: Turn, durationMs: number): Promise<void> {
  const { tally } = session
  const { inputTokens, outputTokens, cachedTokens, estimated } = turn.usage
  const calls = turn.calls.length
  await note(session, {
    type: 'model_step',
    summary: `Step ${tally.steps}: ${calls === 0 ? 'an answer' : `${calls} ${calls === 1 ? 'call' : 'calls'}`}`,
    data: {
      step: tally.steps,
      finish: turn.finish,
      calls,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cached_tokens: cachedTokens,
      estimated,
      duration_ms: Math.round(durationMs),
    },
  })
}

function isDone({ finish }: Turn): boolean {
  if (finish === 'content-filter') throw failed('content_filter', 'The provider withheld the answer of the model.')
  return finish !== 'length'
}

/** An answer that was cut at the output limit is no end: perhaps a call was to follow. */
function goOn(session: Session): ModelMessage {
  const { tally, options } = session
  if (++tally.mistakes >= options.maxMistakes) {
    throw failed('output_limit', 'The answers of the model are longer than one turn may be.')
  }
  say(session, remark('The answer was cut at the output limit; the model is asked to go on.'))
  return {
    role: 'user',
    content: 'Your last message was cut off at the output limit. Go on where it ended, more briefly.',
  }
}

const completed = ({ clean }: Session, { text }: Turn): Outcome => ({
  status: 'completed',
  summary: oneLine(clean(text), 500) || 'The model ended without a closing word.',
})

/** Failures of the work are outcomes; what is no failure of the work (a record that cannot be written) goes on upward. */
function outcomeOf(error: unknown, clock: Clock, { timeoutMs }: ModelOptions): Outcome {
  if (clock.isOver()) {
    return {
      status: 'failed',
      reason: 'budget_time',
      summary: `The model was not done within ${timeoutMs} ms.`,
      exitCode: 124,
    }
  }
  if (clock.signal.aborted || (isGloveboxError(error) && error.code === 'CANCELLED')) {
    return { status: 'cancelled', summary: 'The work was cancelled.' }
  }
  if (error instanceof Ending) return error.outcome
  throw error
}

async function tellEnd(session: Session, outcome: Outcome): Promise<void> {
  const { tally } = session
  const tokens = totalTokens(tally)
  const summary = `${tally.steps} steps, ${tally.calls} calls, ${tokens} tokens${tally.estimated ? ' (estimated)' : ''}`
  const how = outcome.status === 'completed' ? outcome.status : `${outcome.status}: ${outcome.summary}`
  say(session, ending(how, summary))
  await note(session, {
    type: 'model_usage',
    summary,
    data: {
      steps: tally.steps,
      calls: tally.calls,
      retries: tally.retries,
      input_tokens: tally.inputTokens,
      output_tokens: tally.outputTokens,
      cached_tokens: tally.cachedTokens,
      total_tokens: tokens,
      estimated: tally.estimated,
    },
  })
}

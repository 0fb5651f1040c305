// The work of a run: the sandbox is made, the executor gets its assignment, and how it went is told as an outcome, also
// when something throws. When this returns, nothing of the work is alive any more.
import type { Backend } from '../../contract/backend.ts'
import type { Assignment, Outcome } from '../../contract/executor.ts'
import { isGloveboxError } from '../../errors/error.ts'
import type { Run } from '../../runs/run.ts'
import { asStorageError, isNoSpace } from '../../runs/storage-error.ts'
import { guestName } from './compose.ts'
import { bringIn, type Input } from './inputs.ts'
import { openMailbox, type MailboxOptions } from './mailbox.ts'
import { openPhases, type Phases } from './phases.ts'
import type { RecordingOptions } from './recorded-sandbox.ts'
import type { RunRequest, RunSandbox } from './request.ts'
import { openWorkplace } from './workplace.ts'

/** An executor that was asked to end has this long to say how it ended; then its sandbox is taken away. */
const graceMs = 10_000
/** A tool that takes longer is worth a state of its own. Each change of state costs syncs, so a quick one has none. */
const longActionMs = 2000

export interface WorkOptions {
  readonly run: Run
  readonly request: RunRequest
  /** That of the request, with what keeps the run's record from the guest. */
  readonly sandbox: RunSandbox
  readonly inputs: readonly Input[]
  readonly backend: Backend
  readonly backendVersion: string | undefined
  readonly leaveAnswer: MailboxOptions['leaveAnswer']
}

export interface Worked {
  readonly outcome: Outcome
  readonly error?: unknown
}

export async function performWork(options: WorkOptions): Promise<Worked> {
  const { run, request } = options
  const phases = openPhases(run)
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  request.signal?.addEventListener('abort', stop)
  if (request.signal?.aborted === true) stop()
  try {
    return { outcome: await worked(options, phases, stopping) }
  } catch (error) {
    return failure(error, stopping.signal)
  } finally {
    request.signal?.removeEventListener('abort', stop)
    // A run whose state cannot be written down is told so when its end is.
    if (run.record.status !== 'pending') await phases.settle().catch(() => {})
  }
}

async function worked(options: WorkOptions, phases: Phases, stopping: AbortController): Promise<Outcome> {
  const { run, request, backend, backendVersion } = options
  const place = await openWorkplace({
    run,
    prompt: request.prompt,
    deliverables: (request.deliverables ?? []).map(({ path }) => guestName(path)),
    sandbox: options.sandbox,
    backend,
    backendVersion,
    // Where one command is the whole work, the run does not wait for it: it is it.
    ...(request.executor.name === 'command' ? {} : { onAction: tellLongActions(phases) }),
  })
  try {
    await run.transition('running', { summary: `The executor ${request.executor.name} begins.` })
    await bringIn(options.inputs, place.sandbox)
    const mailbox = openMailbox({
      run,
      phases,
      cancel: () => stopping.abort(),
      signal: stopping.signal,
      onQuestion: request.onQuestion,
      leaveAnswer: options.leaveAnswer,
    })
    const assignment: Assignment = {
      prompt: request.prompt,
      sandbox: place.sandbox,
      signal: stopping.signal,
      say: (text) => run.say(text),
      note: async (input) => void (await run.append(input, { durability: 'D2' })),
      recordSystemPrompt: (text) => run.recordSystemPrompt(text),
      ask: (question) => mailbox.ask(question),
      show: (progress) => request.onProgress?.(progress),
      tellBudget: (left) => place.tellBudget(left),
    }
    try {
      return await withinGrace(request.executor.execute(assignment), stopping.signal)
    } finally {
      await mailbox.close()
    }
  } finally {
    await place.close()
  }
}

const tellLongActions = (phases: Phases): NonNullable<RecordingOptions['onAction']> => {
  return () => {
    let entering: ReturnType<Phases['enter']> | undefined
    const timer = setTimeout(() => {
      entering = phases.enter('tool')
      // A state that could not be written is met again when the run ends.
      entering.catch(() => {})
    }, longActionMs).unref()
    return () => {
      clearTimeout(timer)
      entering?.then((leave) => leave()).catch(() => {})
    }
  }
}

const cancelled: Outcome = { status: 'cancelled', summary: 'The run was cancelled.', exitCode: 130 }

async function withinGrace(executing: Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
  executing.catch(() => {})
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<Outcome>((resolve) => {
    const wait = (): void => void (timer = setTimeout(() => resolve(cancelled), graceMs))
    if (signal.aborted) wait()
    else signal.addEventListener('abort', wait, { once: true })
  })
  try {
    return await Promise.race([executing, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

function failure(thrown: unknown, signal: AbortSignal): Worked {
  // Also of what nobody has expected to meet a full disk: that is the operator's, and no fault of ours.
  const error = isNoSpace(thrown) ? asStorageError(thrown, 'go on with the run') : thrown
  if (signal.aborted && isGloveboxError(error) && error.code === 'CANCELLED') return { outcome: cancelled }
  const isOurs = isGloveboxError(error)
  const reason = !isOurs ? 'internal' : error.code === 'NO_SPACE' ? 'disk_full' : error.code.toLowerCase()
  const summary = isOurs ? error.message : 'Glovebox has a fault.'
  return { outcome: { status: 'failed', reason, summary, exitCode: 125 }, error }
}

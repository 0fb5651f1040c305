// `glovebox run --server`: a run that is made, done and kept on a server, watched from here to its end.
import type { Artifact } from '../../../contract/artifact.ts'
import type { RunEvent } from '../../../contract/event.ts'
import type { RunRecord } from '../../../contract/run.ts'
import type { Glovebox } from '../../../client/index.ts'
import { GloveboxError } from '../../../errors/error.ts'
import { exitCodeForRun } from '../../exit.ts'
import { jsonLine, printable, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { readPrompt } from '../../prompt.ts'
import type { RunFlags } from '../../run-program.ts'
import { type Interrupts, watchInterrupts } from '../../signals.ts'
import { formatBytes, formatMs } from '../../units.ts'
import { connectTo, refuseLocal, sameServer } from './connect.ts'
import { policyOf } from './sandbox.ts'

const ofThisHost = ['--config', '--sandbox', '--input', '--mount', '--policy', '--secret', '--vaults']

export async function runRemotely(argv: readonly string[], flags: RunFlags, doing: Doing): Promise<number> {
  refuseLocal(flags, ofThisHost)
  const interrupts = watchInterrupts()
  try {
    const glovebox = connectTo(flags, doing)
    const { run_id } = await glovebox.runs.create(await requestOf(argv, flags, doing, interrupts.signal))
    if (doing.face.err.isTerminal) await doing.face.err.write(`glovebox: run ${run_id}\n`)
    const exitCode = await watch(glovebox, run_id, { flags, doing, interrupts })
    return await tell(glovebox, run_id, { flags, doing, interrupts, exitCode })
  } finally {
    interrupts.stop()
  }
}

async function requestOf(argv: readonly string[], flags: RunFlags, { directory }: Doing, signal: AbortSignal) {
  const { executor, backend, env, runId, sessionId, taskId, revises } = flags
  return {
    ...(revises === undefined ? { prompt: (await readPrompt(flags, { directory, signal })).prompt } : { revises }),
    ...(argv.length === 0 ? {} : { command: argv }),
    policy: policyOf(flags),
    ...(executor === undefined ? {} : { executor }),
    ...(backend === undefined ? {} : { backend }),
    ...(env === undefined ? {} : { env }),
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(taskId === undefined ? {} : { task_id: taskId }),
  }
}

interface Watching {
  readonly flags: RunFlags
  readonly doing: Doing
  readonly interrupts: Interrupts
}

/** Until it has ended, or waits for a person's review. Its command's exit code, if there was one. */
async function watch(glovebox: Glovebox, runId: string, { flags, doing, interrupts }: Watching): Promise<number> {
  const cancel = (): void => void glovebox.runs.cancel(runId).catch(() => {})
  if (interrupts.signal.aborted) cancel()
  interrupts.signal.addEventListener('abort', cancel, { once: true })
  let exitCode = 0
  for await (const event of glovebox.runs.events(runId)) {
    await show(event, { flags, doing })
    if (!doing.face.out.open) interrupts.abort()
    if (typeof event.data['exit_code'] === 'number') exitCode = event.data['exit_code']
    if (event.type === 'state_changed' && event.data['to'] === 'review_required') break
  }
  return exitCode
}

async function show(event: RunEvent, { flags, doing }: Omit<Watching, 'interrupts'>): Promise<void> {
  const { out, err } = doing.face
  if (flags.jsonEvents === true) return out.write(jsonLine(event))
  if (flags.json === true) return
  if (event.type === 'question_asked') {
    const [text, id] = [wordIn(event, 'text'), wordIn(event, 'question_id')]
    await err.write(`${printable(`glovebox: The run asks: ${text}`)}\n`)
    const answer = `glovebox runs answer ${event.run_id} --question ${id}${sameServer(flags)} "…"`
    return err.write(`${printable(`hint: Answer it: ${answer}`)}\n`)
  }
  if (err.isTerminal && event.type === 'action_started') await err.write(`${printable(`→ ${event.summary}`)}\n`)
}

const wordIn = ({ data }: RunEvent, name: string): string => (typeof data[name] === 'string' ? data[name] : '')

async function tell(
  glovebox: Glovebox,
  runId: string,
  { flags, doing, interrupts, exitCode }: Watching & { readonly exitCode: number },
): Promise<number> {
  const { record, summary } = await glovebox.runs.get(runId)
  if (record === null)
    throw new GloveboxError('RECORD_DAMAGED', 'Cannot tell how the run ended: its record cannot be read')
  const { out, err } = doing.face
  if (flags.json === true) await out.write(jsonLine(record))
  else if (flags.jsonEvents !== true) {
    const { entries } = await glovebox.runs.artifacts(runId)
    for (const line of ending(record, { summary, entries, flags })) await err.write(`${printable(line)}\n`)
  }
  const outcome = { status: 'completed', summary: '', exitCode } as const
  const finished = { directory: '', record, outcome, deliverables: [] }
  return exitCodeForRun(finished, { signal: interrupts.received, readerGone: !out.open })
}

interface Ended {
  readonly summary: string | null
  readonly entries: readonly Artifact[]
  readonly flags: RunFlags
}

function ending(record: RunRecord, { summary, entries, flags }: Ended): readonly string[] {
  const { run_id, status, failure_reason, created_at, updated_at } = record
  const took = formatMs(Date.parse(updated_at) - Date.parse(created_at))
  const reason = failure_reason === null ? '' : ` (${failure_reason})`
  const told = summary === null || status === 'completed' ? '.' : `: ${summary}`
  const there = `${run_id}${sameServer(flags)}`
  const delivered = entries.filter(({ role, kind }) => role === 'deliverable' && kind === 'file')
  return [
    `glovebox: The run is ${status}${reason} after ${took}${told}`,
    ...table([
      ['run', run_id],
      ...delivered.map(({ path, size }) => ['delivered', `${path} (${formatBytes(size ?? 0)})`]),
      ...(status === 'review_required' ? [['approve', `glovebox runs approve ${there}`]] : []),
      ['files', `glovebox runs artifacts ${there}`],
    ]).map((row) => `  ${row}`),
  ]
}

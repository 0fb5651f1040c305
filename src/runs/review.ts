// What a person decides about a run that waits: it is good, or it is to be done again. Doing it again is another run of the
// same task; this one stays as it is. What was looked at is what is approved: deliverables that changed since are refused.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { artifactManifestSchema, type Artifact, type ArtifactManifest } from '../contract/artifact.ts'
import type { RunEvent } from '../contract/event.ts'
import type { Deliverable, RunRecord, RunStatus } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { readActions } from './actions.ts'
import { placeIn } from './layout.ts'
import { checkTransition } from './machine.ts'
import { openRun, type OpenedRun } from './open.ts'
import { readEvents, readRun } from './reader.ts'
import type { Run } from './run.ts'
import { readSnapshots } from './snapshots.ts'

/** Leaves room in an event for the rest of it, however JSON writes the text. */
export const maxReviewBytes = 8 * 1024
const toldChanges = 10
const messageHeading = '## What to do differently this time'

export interface Decided {
  readonly record: RunRecord
  /** What a crash had left, and was put right on the way. */
  readonly repairs: readonly string[]
}

/** How a run is taken hold of: whoever knows of sandboxes has more to put right after a crash. */
export type Opener = (directory: string) => Promise<OpenedRun>

export interface ApproveOptions {
  readonly message?: string
  /** The deliverables may be others than those that were recorded when the run began to wait. */
  readonly acceptChanges?: boolean
}

/** Look at the answer: without its required deliverables the run ends as `failed`. */
export async function approveRun(
  directory: string,
  options: ApproveOptions = {},
  open: Opener = openRun,
): Promise<Decided> {
  const data = options.message === undefined ? {} : { message: checkMessage(options.message) }
  return decide(directory, { to: 'completed', open }, async (run) => {
    if (options.acceptChanges !== true) await refuseChanges(run)
    return run.transition('completed', { actor: 'user', summary: 'A person approved the run.', data })
  })
}

export async function sendRunBack(directory: string, message: string, open: Opener = openRun): Promise<Decided> {
  const data = { message: checkMessage(message) }
  return decide(directory, { to: 'revision_required', open }, (run) =>
    run.transition('revision_required', { actor: 'user', summary: 'A person wants the task done again.', data }),
  )
}

export function cancelWaitingRun(directory: string, open: Opener = openRun): Promise<Decided> {
  return decide(directory, { to: 'cancelled', open }, (run) =>
    run.transition('cancelled', { actor: 'user', summary: 'A person cancelled the run.' }),
  )
}

async function decide(
  directory: string,
  { to, open }: { readonly to: RunStatus; readonly open: Opener },
  change: (run: Run) => Promise<RunRecord>,
): Promise<Decided> {
  const { run, repairs } = await open(directory)
  try {
    checkTransition(run.record.status, to)
    return { record: await change(run), repairs }
  } finally {
    await run.close()
  }
}

function checkMessage(text: string): string {
  if (text.trim() === '') throw refuse('INVALID_INPUT', 'the message is empty')
  if (Buffer.byteLength(JSON.stringify(text)) > maxReviewBytes)
    throw refuse('TOO_LARGE', `the message has more than ${maxReviewBytes} bytes`)
  return text
}

async function refuseChanges(run: Run): Promise<void> {
  const recorded = await recordedManifest(run)
  if (recorded === undefined) return
  const changed = changedDeliverables(recorded, await run.artifacts())
  if (changed.length === 0) return
  throw new GloveboxError(
    'CONFLICT',
    `Cannot approve the run: ${changed.length} of its deliverables changed after it began to wait: ${changed.slice(0, toldChanges).join(', ')}`,
    { hint: 'Look at them. To approve them as they are now, add --accept-changes.', facts: { changed } },
  )
}

/** Believed only if it is what the event says that made the run wait. Undefined where the run did not wait for review. */
async function recordedManifest(run: Run): Promise<ArtifactManifest | undefined> {
  let sealed: string | undefined
  for await (const event of run.events()) sealed = sealOf(event) ?? sealed
  if (sealed === undefined) return undefined
  const bytes = readFileSync(placeIn(run.directory, 'artifact-manifest.json'))
  if (createHash('sha256').update(bytes).digest('hex') !== sealed)
    throw refuse('RECORD_DAMAGED', 'artifact-manifest.json is not what it was when the run began to wait')
  return artifactManifestSchema.parse(JSON.parse(bytes.toString('utf8')))
}

function sealOf({ type, data: { to, files } }: RunEvent): string | undefined {
  if (type !== 'state_changed' || to !== 'review_required') return undefined
  const seal =
    typeof files === 'object' && files !== null && !Array.isArray(files) ? files['artifact-manifest.json'] : ''
  return typeof seal === 'string' ? seal : ''
}

function changedDeliverables(before: ArtifactManifest, now: ArtifactManifest): readonly string[] {
  const [old, fresh] = [before, now].map(
    ({ entries }) =>
      new Map(entries.filter(({ role }) => role === 'deliverable').map((entry) => [entry.path, essence(entry)])),
  )
  const paths = new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])])
  return [...paths].filter((path) => old?.get(path) !== fresh?.get(path))
}

const essence = ({ kind, size, sha256, target }: Artifact): string => JSON.stringify([kind, size, sha256, target])

export interface Revision {
  readonly prompt: string
  readonly configText: string
  /** Of a run whose work was one command: that command. Null where something else did the work. */
  readonly command: readonly string[] | null
  readonly sessionId: string
  readonly taskId: string
  readonly revisionOf: string
  readonly profileId: string | null
  readonly executor: string | null
  readonly sessionTitle: string | null
  readonly taskTitle: string | null
  readonly deliverables: readonly Deliverable[]
  readonly review: boolean
}

/**
 * What the next attempt is made from: the same task and session, and the prompt with what the person wrote. What the
 * sandbox allows is the operator's to say anew.
 */
export async function planRevision(directory: string): Promise<Revision> {
  const { record, damage } = await readRun(directory)
  if (record === null || damage !== null) throw refuse('RECORD_DAMAGED', damage ?? 'the log is empty')
  if (record.status !== 'revision_required') throw notSentBack(record.status)
  const { created, session, task, prompt, configText } = await readSnapshots(directory)
  const message = await lastMessage(directory)
  return {
    prompt: message === undefined ? prompt : `${prompt.trimEnd()}\n\n${messageHeading}\n\n${message.trim()}\n`,
    configText,
    command: created.executor === 'command' ? await lastCommand(directory) : null,
    sessionId: record.session_id,
    taskId: record.task_id,
    revisionOf: record.run_id,
    profileId: created.profile_id,
    executor: created.executor,
    sessionTitle: session.title,
    taskTitle: task.title,
    deliverables: task.deliverables,
    review: task.review,
  }
}

/** The command stands in the config only if a person wrote it there; what was done stands in the actions. */
async function lastCommand(directory: string): Promise<readonly string[] | null> {
  let command: readonly string[] | null = null
  for await (const { action, input } of readActions(directory)) {
    const { argv } = input
    if (action === 'run' && Array.isArray(argv)) command = argv.filter((word) => typeof word === 'string')
  }
  return command
}

async function lastMessage(directory: string): Promise<string | undefined> {
  let message: string | undefined
  for await (const event of readEvents(directory)) message = messageOf(event) ?? message
  return message
}

const messageOf = ({ type, data }: RunEvent): string | undefined =>
  type === 'state_changed' && data['to'] === 'revision_required' && typeof data['message'] === 'string'
    ? data['message']
    : undefined

const refuse = (code: 'INVALID_INPUT' | 'TOO_LARGE' | 'RECORD_DAMAGED', cause: string): GloveboxError =>
  new GloveboxError(code, `Cannot decide about the run: ${cause}`)

const notSentBack = (status: RunStatus): GloveboxError =>
  new GloveboxError('ILLEGAL_TRANSITION', `Cannot do the run again: it is ${status}, and nobody sent it back`, {
    hint: 'Send it back first: glovebox runs revise RUN --message "…"',
  })

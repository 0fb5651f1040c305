// One run from request to end. Promises: what can be known to fail is refused before a directory is made; from then on the
// run ends in a state that says how, whatever happens to its executor, its sandbox or its person; the sandbox is gone before
// the end is written down; both creation and end stand in the audit log, and without it nothing begins. It must not know
// what the work is, nor who watches.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { artifactManifestSchema, type Artifact } from '../../contract/artifact.ts'
import { idSchema, newRunId, type RunRecord } from '../../contract/run.ts'
import type { Backend } from '../../contract/backend.ts'
import type { Outcome } from '../../contract/executor.ts'
import { GloveboxError } from '../../errors/error.ts'
import { parseGuestPath } from '../../paths/guest.ts'
import { checkEnvironment } from '../../policy/environment.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { leaveMessage } from '../../runs/inbox.ts'
import { placeIn } from '../../runs/layout.ts'
import { createRun, type Run } from '../../runs/run.ts'
import { openAudit, type AuditLog } from '../audit.ts'
import { openBackendFor } from '../create.ts'
import { askedFailpoints } from '../failpoints.ts'
import { resolveMounts } from '../mounts.ts'
import { stateHome } from '../state.ts'
import { endRun } from './ending.ts'
import { surveyInputs } from './inputs.ts'
import { keepFromGuest } from './own-record.ts'
import type { RunRequest, RunSandbox } from './request.ts'
import { performWork } from './work.ts'

export interface FinishedRun {
  /** Host path of the run directory. */
  readonly directory: string
  /** `review_required` is an end here: the next word is a person's. */
  readonly record: RunRecord
  readonly outcome: Outcome
  /** Files below deliverables/ as the artifact manifest has them. */
  readonly deliverables: readonly Artifact[]
  /** Where Glovebox itself failed, and not the work. */
  readonly error?: unknown
}

export async function startRun(request: RunRequest): Promise<FinishedRun> {
  const runId = checkedRunId(request.runId)
  const directory = resolve(request.sandboxPath ?? join('runs', runId))
  refuseBadSandbox(request.sandbox)
  const sandbox = keepFromGuest(directory, request.sandbox)
  const inputs = surveyInputs(request.inputs ?? [])
  const { backend, version } = await openUsableBackend(request.sandbox)
  try {
    await using audit = await openAudit(stateHome())
    await using run = await createAudited(request, { runId, directory }, audit)
    const leaveAnswer = async (question: string, text: string): Promise<void> => {
      const entry = { actor: 'operator', action: 'run.answer', subject: runId, data: { question } }
      await audit.perform(entry, () => leaveMessage(run.directory, { kind: 'answer', question, text }))
    }
    const worked = await performWork({ run, request, sandbox, inputs, backend, backendVersion: version, leaveAnswer })
    const ended = await endRun({ run, audit, outcome: worked.outcome, review: request.review ?? false })
    const error = worked.error ?? ended.error
    return {
      directory: run.directory,
      record: ended.record,
      outcome: worked.outcome,
      deliverables: deliveredFiles(run.directory),
      ...(error === undefined ? {} : { error }),
    }
  } finally {
    if (typeof request.sandbox.backend !== 'object') await backend.close?.()
  }
}

function deliveredFiles(directory: string): readonly Artifact[] {
  const text = readFileSync(placeIn(directory, 'artifact-manifest.json'), 'utf8')
  const { entries } = artifactManifestSchema.parse(JSON.parse(text))
  return entries.filter(({ role, kind }) => role === 'deliverable' && kind === 'file')
}

function checkedRunId(given: string | undefined): string {
  if (given === undefined) return newRunId()
  const parsed = idSchema.safeParse(given)
  if (parsed.success) return parsed.data
  throw new GloveboxError('INVALID_INPUT', `Cannot create the run: the run id ${parsed.error.issues[0]?.message ?? ''}`)
}

const ownPlaces: ReadonlySet<string> = new Set(['/workspace', '/deliverables', '/prompt'])

/** What the sandbox would be refused for, asked while there is no run yet. */
function refuseBadSandbox({ layers, env, mounts = [] }: RunSandbox): void {
  resolvePolicy(layers)
  checkEnvironment(env ?? {})
  resolveMounts(mounts)
  const taken = mounts.map(({ guestPath }) => parseGuestPath(guestPath)).find((path) => ownPlaces.has(path))
  if (taken === undefined) return
  throw new GloveboxError('INVALID_INPUT', `Cannot mount ${taken}: it belongs to the run`, {
    hint: 'Mount it elsewhere, for example at /data, or name files as inputs: they are copied into the workspace.',
  })
}

async function openUsableBackend(
  sandbox: RunSandbox,
): Promise<{ readonly backend: Backend; readonly version: string | undefined }> {
  const backend = await openBackendFor(sandbox)
  const { available, version, reason, fix } = await backend.probe()
  if (available) return { backend, version }
  if (typeof sandbox.backend !== 'object') await backend.close?.()
  throw new GloveboxError('BACKEND_UNAVAILABLE', `Cannot use ${backend.name}: it does not work on this host`, {
    ...(fix === undefined ? {} : { hint: fix }),
    ...(reason === undefined ? {} : { operatorDetail: reason }),
  })
}

interface Place {
  readonly runId: string
  readonly directory: string
}

function createAudited(request: RunRequest, { runId, directory }: Place, audit: AuditLog): Promise<Run> {
  const { prompt, config, configText, executor } = request
  const { sessionId, taskId, profileId, sessionTitle, taskTitle, deliverables, review, revisionOf } = request
  const { forkedFrom, beginning } = request
  const entry = {
    actor: 'operator',
    action: 'run.create',
    subject: runId,
    data: { directory: directory.slice(0, 2000), executor: executor.name },
  }
  const failpoint = askedFailpoints()
  return audit.perform(entry, () =>
    createRun({
      runId,
      failpoint,
      sandboxPath: directory,
      prompt,
      config,
      executor: executor.name,
      sessionId,
      taskId,
      onEvent: request.onEvent,
      ...(configText === undefined ? {} : { configText }),
      ...(profileId === undefined ? {} : { profileId }),
      ...(sessionTitle === undefined ? {} : { sessionTitle }),
      ...(taskTitle === undefined ? {} : { taskTitle }),
      ...(deliverables === undefined ? {} : { deliverables }),
      ...(review === undefined ? {} : { review }),
      ...(revisionOf === undefined ? {} : { revisionOf }),
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
      ...(beginning === undefined ? {} : { beginning }),
    }),
  )
}

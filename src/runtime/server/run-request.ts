// What a caller over the wire may say of a run, joined with what the operator's settings say. Mounts and inputs of the settings
// are files of this host that the operator meant for himself: they are not handed to callers.
import type { Executor } from '../../contract/executor.ts'
import type { PolicyLayer, PolicyValues } from '../../contract/policy.ts'
import { composeRun } from '../runs/compose.ts'
import type { RunRequest } from '../runs/request.ts'
import { planRevision, type Revision } from '../runs/review.ts'
import type { RunSettings, Settings } from '../settings.ts'
import type { ServedBackends } from './backends.ts'

export interface ServedRunRequest {
  readonly project: string
  readonly tokenId: string
  readonly prompt: string
  readonly runId?: string | undefined
  readonly sessionId?: string | undefined
  readonly taskId?: string | undefined
  readonly title?: string | undefined
  readonly executor?: 'command' | 'model' | undefined
  readonly command?: readonly string[] | undefined
  readonly backend?: string | undefined
  readonly policy?: PolicyValues | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly deliverables?: RunSettings['deliverables']
  readonly review?: boolean | undefined
  /** The directory of the run that was sent back, and is done again. */
  readonly revises?: string | undefined
}

export interface ServedRunParts {
  readonly backends: ServedBackends
  readonly settings: Settings
}

interface Place {
  readonly runId: string
  readonly directory: string
  /** Does the run end because the server does? */
  readonly isDrained: () => boolean
}

export async function composeServedRun(
  request: ServedRunRequest,
  { backends, settings }: ServedRunParts,
  { runId, directory, isDrained }: Place,
): Promise<RunRequest> {
  const revision = request.revises === undefined ? undefined : await planRevision(request.revises)
  const composed = await composeRun({
    settings: {
      layers: settings.layers,
      ...(settings.env === undefined ? {} : { env: settings.env }),
      ...(settings.vaults === undefined ? {} : { vaults: settings.vaults }),
      run: runOf(request, settings),
    },
    layers: layersOf(request),
    mounts: [],
    backend: await backends.get(request.backend),
    env: request.env,
    executor: request.executor,
    argv: request.command ?? revision?.command ?? [],
  })
  return {
    ...composed,
    ...(revision === undefined ? {} : taskOf(revision)),
    executor: tellingDrain(composed.executor, isDrained),
    prompt: revision?.prompt ?? request.prompt,
    runId,
    sessionId: revision?.sessionId ?? request.sessionId,
    taskId: revision?.taskId ?? request.taskId,
    sandboxPath: directory,
  }
}

function runOf({ deliverables, review, title }: ServedRunRequest, { run }: Settings): RunSettings {
  const { inputs: _, text: _text, ...own } = run ?? { directory: '' }
  return {
    ...own,
    ...(deliverables === undefined ? {} : { deliverables }),
    ...(review === undefined ? {} : { review }),
    ...(title === undefined ? {} : { title }),
  }
}

const layersOf = ({ policy }: ServedRunRequest): readonly PolicyLayer[] =>
  policy === undefined ? [] : [{ layer: 'request', source: 'POST /runs', values: policy }]

/** The next attempt owes what the first one owed. */
const taskOf = ({ revisionOf, sessionTitle, taskTitle, deliverables, review }: Revision) => ({
  revisionOf,
  sessionTitle,
  taskTitle,
  deliverables,
  review,
})

/** A run that ends because the server does says so. */
const tellingDrain = (executor: Executor, isDrained: () => boolean): Executor => ({
  name: executor.name,
  execute: async (assignment) => {
    const outcome = await executor.execute(assignment)
    return outcome.status === 'cancelled' && isDrained()
      ? { ...outcome, reason: 'drained', summary: 'The run was cancelled, because the server stops.' }
      : outcome
  },
})

// Runs for programs: the library's words over what lies beneath. Everything is loaded at the first use, so that whoever
// imports the library for a sandbox alone pays nothing for runs.
import type { Executor } from '../../contract/executor.ts'
import type { OperatorPolicy, PolicyLayer, PolicyValues } from '../../contract/policy.ts'
import type { RunRecord, RunStatus } from '../../contract/run.ts'
import type { ModelOptions } from '../../executors/model/options.ts'
import type { OpenedRun, OpenRunOptions } from '../../runs/open.ts'
import type { RunView } from '../../runs/reader.ts'
import type { CreateRunOptions, Run, TransitionOptions } from '../../runs/run.ts'
import type { VerifyReport } from '../../runs/verify.ts'
import type { CreateOptions } from '../create.ts'
import type { MountRequest } from '../mount-text.ts'
import type { RunSettings } from '../settings.ts'
import type { ForkedRun, ForkRequest } from './fork.ts'
import type { RunRequest } from './request.ts'
import type { FinishedRun } from './start.ts'

export { resolveSandboxPath } from '../../runs/resolve-path.ts'

/** What does the work: a program inside, a model with the sandbox's tools, or whatever implements Executor. */
export type RunExecutor =
  | Executor
  | { readonly command: readonly [string, ...string[]] }
  | { readonly model: ModelInput }
export type ModelInput = Partial<ModelOptions> & Pick<ModelOptions, 'model'>

type Watched = 'signal' | 'onEvent' | 'onProgress' | 'onQuestion'
type Named =
  | 'sessionId'
  | 'taskId'
  | 'runId'
  | 'sandboxPath'
  | 'sessionTitle'
  | 'taskTitle'
  | 'profileId'
  | 'revisionOf'

export interface StartOptions extends Pick<RunRequest, 'prompt' | Watched | Named> {
  readonly executor: RunExecutor
  readonly backend?: CreateOptions['backend']
  /** Beside /workspace and /deliverables, which are the run's own. */
  readonly mounts?: readonly MountRequest[]
  readonly env?: Readonly<Record<string, string>>
  /** What is asked for. Above a ceiling it is refused with POLICY_ESCALATION. */
  readonly policy?: PolicyValues
  /** What the operator decides: values, and the ceilings for everything that is asked. */
  readonly settings?: OperatorPolicy
  readonly deliverables?: NonNullable<RunSettings['deliverables']>
  readonly inputs?: readonly string[]
  readonly review?: boolean
  /** Begin where another run was. What it owed, this one owes too, unless `deliverables` says otherwise. */
  readonly fork?: Pick<ForkRequest, 'directory' | 'at' | 'method'>
}

export const runs = {
  /** A run whose work the caller does itself. */
  async create(options: CreateRunOptions): Promise<Run> {
    return (await import('../../runs/run.ts')).createRun(options)
  },
  /** The whole thing: directory, sandbox, work, end. */
  async start(options: StartOptions): Promise<FinishedRun> {
    const { startRun } = await import('./start.ts')
    const request = await requestOf(options)
    return startRun(options.fork === undefined ? request : await asFork(request, options.fork, options))
  },
  /** A run that begins where another one was, and is not started. */
  async fork(request: ForkRequest): Promise<ForkedRun> {
    return (await import('./fork.ts')).forkRun(request)
  },
  async open(directory: string, options?: OpenRunOptions): Promise<OpenedRun> {
    return (await import('./reopen.ts')).reopenRun(directory, options)
  },
  async read(directory: string): Promise<RunView> {
    return (await import('../../runs/reader.ts')).readRun(directory)
  },
  async verify(directory: string): Promise<VerifyReport> {
    return (await import('../../runs/verify.ts')).verifyRun(directory)
  },
}

export type RunContext = Run
export const createRunContext = (options: CreateRunOptions): Promise<RunContext> => runs.create(options)
export const updateRunState = (
  context: RunContext,
  status: RunStatus,
  options?: TransitionOptions,
): Promise<RunRecord> => context.transition(status, options)

async function requestOf(options: StartOptions): Promise<RunRequest> {
  const { composeRun } = await import('./compose.ts')
  const { executor, backend, mounts = [], env, deliverables, inputs, review } = options
  const { sessionTitle, taskTitle, profileId, revisionOf } = options
  const composed = await composeRun({
    settings: {
      layers: [],
      run: { directory: '', ...(await described(executor)), deliverables, review, title: taskTitle ?? undefined },
    },
    layers: await layersOf(options),
    mounts,
    backend,
    env,
    inputs,
    executor: isExecutor(executor) ? executor : undefined,
    argv: [],
  })
  const { prompt, sessionId, taskId, runId, sandboxPath, signal, onEvent, onProgress, onQuestion } = options
  return {
    ...composed,
    prompt,
    sessionId,
    taskId,
    runId,
    sandboxPath,
    ...(profileId === undefined ? {} : { profileId }),
    ...(sessionTitle === undefined ? {} : { sessionTitle }),
    ...(revisionOf === undefined ? {} : { revisionOf }),
    ...(signal === undefined ? {} : { signal }),
    ...(onEvent === undefined ? {} : { onEvent }),
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(onQuestion === undefined ? {} : { onQuestion }),
  }
}

async function asFork(
  request: RunRequest,
  fork: NonNullable<StartOptions['fork']>,
  options: StartOptions,
): Promise<RunRequest> {
  const { prepareFork } = await import('./fork.ts')
  const { runId, sandboxPath, prompt, backend } = options
  const { identity, directory } = await prepareFork({
    ...fork,
    runId,
    sandboxPath,
    prompt,
    sandbox: backend === undefined ? {} : { backend },
  })
  const own = options.deliverables === undefined ? {} : { deliverables: request.deliverables ?? [] }
  return { ...request, ...identity, ...own, sandboxPath: directory }
}

const isExecutor = (executor: RunExecutor): executor is Executor => 'execute' in executor

async function described(executor: RunExecutor): Promise<Pick<RunSettings, 'executor' | 'model'>> {
  if (isExecutor(executor)) return {}
  if ('command' in executor) return { executor: { kind: 'command', command: [...executor.command] } }
  const { modelOptionsSchema } = await import('../../executors/model/options.ts')
  const { checkShape } = await import('../check-shape.ts')
  return { executor: { kind: 'model' }, model: checkShape('model', modelOptionsSchema, executor.model) }
}

async function layersOf({ settings, policy }: StartOptions): Promise<readonly PolicyLayer[]> {
  const { operatorPolicySchema, policyValuesSchema } = await import('../../contract/policy.ts')
  const { checkShape } = await import('../check-shape.ts')
  const layers: PolicyLayer[] = []
  if (settings !== undefined)
    layers.push({
      layer: 'settings',
      source: 'runs.start settings',
      values: checkShape('settings', operatorPolicySchema, settings),
    })
  if (policy !== undefined)
    layers.push({
      layer: 'request',
      source: 'runs.start policy',
      values: checkShape('policy', policyValuesSchema, policy),
    })
  return layers
}

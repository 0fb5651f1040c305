// Reproducibility as a command: a fresh run whose executor repeats the recorded actions of another, in a sandbox built from
// that run's manifest, and a report of what came out the same, byte for byte, and what did not. The original is verified
// first and only read; the replay is a recorded run of its own. It must not know how the report is shown.
import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { artifactManifestSchema, sandboxManifestSchema, type SandboxManifest } from '../../contract/artifact.ts'
import { newRunId, type RunRecord } from '../../contract/run.ts'
import { GloveboxError } from '../../errors/error.ts'
import { createReplayExecutor } from '../../executors/replay/executor.ts'
import { tally, type Comparison, type Tally } from '../../executors/replay/report.ts'
import { readActions, type UnendedAction } from '../../runs/actions.ts'
import { fingerprint } from '../../runs/fingerprint.ts'
import { compareArtifacts, type ArtifactComparison, type Tree } from './replay/artifacts.ts'
import { beginAgain } from './replay/beginning.ts'
import { manifest, openOriginal, type Original } from './replay/original.ts'
import { sandboxAgain, type Allowed, type SandboxAgain } from './replay/request.ts'
import { promptVariable } from './prompt.ts'
import type { RunWatching } from './request.ts'
import { startRun, type FinishedRun } from './start.ts'

export type { ArtifactComparison } from './replay/artifacts.ts'
export type { Comparison, Difference, Tally } from '../../executors/replay/report.ts'
export { causeText, lineOf, summaryOf } from '../../executors/replay/words.ts'

export interface ReplayRequest extends Pick<RunWatching, 'signal'> {
  /** Of the run that is repeated. */
  readonly directory: string
  /** Of the replay. Default: `runs/<run id>` in the current directory. */
  readonly sandboxPath?: string | undefined
  readonly allowed: Allowed
  /** Values for variables that the run had. Each must be one of them. */
  readonly env?: Readonly<Record<string, string>>
  /** Values of the settings: used where the run had such a variable. */
  readonly settingsEnv?: Readonly<Record<string, string>>
  readonly ownsProcess?: boolean
  readonly onBegin?: (begun: { readonly actions: number }) => void
  readonly onCompared?: (comparison: Comparison) => void
}

export interface ReplayReport {
  /** Everything that could be compared came out identical, and the replay came to its end. */
  readonly ok: boolean
  readonly original: {
    readonly runId: string
    readonly directory: string
    readonly status: string
    /** Whose end was recorded. Less are compared when the replay was cancelled. */
    readonly actions: number
  }
  readonly replay: {
    readonly runId: string
    readonly directory: string
    readonly status: string
    readonly reason: string | null
    readonly summary: string
  }
  readonly actions: Tally
  readonly artifacts: Tally
  /** Variables of the sandbox that the original had and the replay has not. */
  readonly notSupplied: readonly string[]
  /** What else was not the same: policy, backend, directories of the host. */
  readonly remarks: readonly string[]
  readonly comparisons: readonly Comparison[]
  readonly artifactComparisons: readonly ArtifactComparison[]
}

export async function replayRun(request: ReplayRequest): Promise<ReplayReport> {
  const original = await openOriginal(request.directory)
  const runId = newRunId()
  const sandboxPath = resolve(request.sandboxPath ?? join('runs', runId))
  refuseInside(original.directory, sandboxPath)
  refuseUnknownVariables(original, request.env ?? {})
  const again = sandboxAgain(original.sandbox, original.directory, request.allowed)
  const begin = await beginAgain(original, { runId, sandboxPath })
  request.onBegin?.({ actions: original.actions })
  const comparisons: Comparison[] = []
  const seen = new Map<string, string>()
  const env = { ...request.settingsEnv, ...request.env }
  const executor = createReplayExecutor({
    actions: readActions(original.directory),
    env,
    fingerprint,
    seen,
    onCompared(comparison) {
      comparisons.push(comparison)
      request.onCompared?.(comparison)
    },
  })
  const finished = await startRun({
    ...identityOf(original, again, env),
    ...begin,
    executor,
    runId,
    sandboxPath,
    sandbox: {
      backend: again.backend,
      layers: again.layers,
      mounts: again.mounts,
      env: sandboxEnvironment(original, env),
      ...(request.ownsProcess === undefined ? {} : { ownsProcess: request.ownsProcess }),
    },
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  })
  if (finished.error !== undefined) throw asError(finished.error)
  return reportOn({ original, again, finished, comparisons, seen })
}

const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new GloveboxError('INTERNAL', 'Cannot replay the run: Glovebox has a fault')

/** Law: a replay never writes to the original. */
function refuseInside(original: string, sandboxPath: string): void {
  if (!`${realPlace(sandboxPath)}${sep}`.startsWith(`${original}${sep}`)) return
  throw new GloveboxError('INVALID_INPUT', 'Cannot replay the run: the replay would lie inside the original', {
    hint: 'Choose another place: --sandbox DIR.',
  })
}

/** What leads to a directory that is not there yet may be a link. */
function realPlace(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  return dirname(path) === path ? path : join(realPlace(dirname(path)), basename(path))
}

function refuseUnknownVariables({ sandbox, envNames }: Original, env: Readonly<Record<string, string>>): void {
  const unknown = Object.keys(env).find((name) => !sandbox.environment.includes(name) && !envNames.has(name))
  if (unknown === undefined) return
  const known = [...new Set([...sandbox.environment, ...envNames])].toSorted()
  throw new GloveboxError('INVALID_INPUT', `Cannot replay the run: it had no variable ${unknown}`, {
    hint: `It had: ${known.join(', ')}.`,
  })
}

const sandboxEnvironment = ({ sandbox }: Original, env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => sandbox.environment.includes(name) && name !== promptVariable),
  )

function identityOf({ record, snapshots, headHash }: Original, again: SandboxAgain, env: object) {
  const { session, task, prompt } = snapshots
  return {
    prompt,
    sessionId: session.session_id,
    taskId: task.task_id,
    sessionTitle: session.title,
    taskTitle: task.title,
    profileId: record.profile_id,
    deliverables: task.deliverables,
    config: {
      replay: {
        run_id: record.run_id,
        head_hash: headHash,
        config_fingerprint: record.config_fingerprint,
      },
      backend: again.backend,
      layers: again.layers,
      mounts: again.mounts,
      environment: Object.keys(env).toSorted(),
    },
  }
}

interface Ended {
  readonly original: Original
  readonly again: SandboxAgain
  readonly finished: FinishedRun
  readonly comparisons: readonly Comparison[]
  readonly seen: Map<string, string>
}

async function reportOn({ original, again, finished, comparisons, seen }: Ended): Promise<ReplayReport> {
  const { directory, record, outcome } = finished
  const all = [...comparisons, ...original.unended.map(neverEnded)].toSorted((a, b) => a.number - b.number)
  const sandbox = await manifest(directory, 'sandbox-manifest.json', sandboxManifestSchema)
  const artifacts = await manifest(directory, 'artifact-manifest.json', artifactManifestSchema)
  const then = treeOf(original.directory, original.record, original.artifacts)
  const compared = await compareArtifacts(then, treeOf(directory, record, artifacts), seen)
  const tallies = { actions: tally(all), artifacts: tally(compared.artifacts) }
  const isWhole = record.status === 'completed' && comparisons.length === original.actions
  return {
    ok: isWhole && tallies.actions.differs === 0 && tallies.artifacts.differs === 0,
    original: {
      runId: original.record.run_id,
      directory: original.directory,
      status: original.record.status,
      actions: original.actions,
    },
    replay: {
      runId: record.run_id,
      directory,
      status: record.status,
      reason: record.failure_reason,
      summary: outcome.summary,
    },
    ...tallies,
    notSupplied: original.sandbox.environment.filter((name) => !sandbox.environment.includes(name)),
    remarks: [
      ...again.remarks,
      ...versionRemark(original, sandbox),
      ...addedRemark(original, sandbox),
      ...compared.doubts,
    ],
    comparisons: all,
    artifactComparisons: compared.artifacts,
  }
}

const neverEnded = ({ number, action, about }: UnendedAction): Comparison => ({
  number,
  action,
  about,
  result: 'not_repeated',
  reason: 'its end was never recorded',
  differences: [],
  cut: [],
  notSupplied: [],
  overlapped: false,
})

const treeOf = (directory: string, record: RunRecord, recorded: Tree['manifest']): Tree => ({
  directory,
  manifest: recorded,
  fromMs: Date.parse(record.started_at ?? record.created_at),
  toMs: Date.parse(record.completed_at ?? record.updated_at),
})

function versionRemark({ sandbox: then }: Original, now: SandboxManifest): readonly string[] {
  if (then.backend !== now.backend || then.backend_version === now.backend_version) return []
  const versions = `${now.backend_version ?? 'unknown'}, and was ${then.backend_version ?? 'unknown'}`
  return [`the version of ${now.backend} is ${versions}`]
}

function addedRemark({ sandbox: then }: Original, now: SandboxManifest): readonly string[] {
  const added = now.environment.filter((name) => !then.environment.includes(name))
  return added.length === 0 ? [] : [`variables that it did not have then: ${added.join(', ')}`]
}

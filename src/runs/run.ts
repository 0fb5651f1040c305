// Runs: every piece of work is a durable directory. `createRun` makes one, `openRun` (open.ts) takes hold of an existing
// one, `readRun` (reader.ts) looks without touching, `verifyRun` (verify.ts) trusts nobody. What this room promises: an
// answer is given only for what has been recorded; the log only grows; run.json is its fold; a run ends exactly once.
// It knows no sandbox, no executor and no command line, and never reads the environment.
import { resolve } from 'node:path'
import { stringify } from 'yaml'
import type { ArtifactLimits, ArtifactManifest, SandboxManifest } from '../contract/artifact.ts'
import { firstPrevHash, type Durability, type EventData, type EventInput, type RunEvent } from '../contract/event.ts'
import type { Redaction } from '../contract/redaction.ts'
import type { Deliverable, RunRecord, RunStatus } from '../contract/run.ts'
import { layoutVersion } from '../contract/run.ts'
import { emptyManifest } from './artifacts.ts'
import { encodeEvent, type EncodedEvent } from './chain.ts'
import { noFailpoint, type Failpoint } from './failpoints.ts'
import { fingerprint, sha256 } from './fingerprint.ts'
import { identify, type Identity } from './identify.ts'
import { forkFile, placeIn, publishLayout, type Beginning, type RunFile } from './layout.ts'
import { LiveRun, runJsonText } from './live-run.ts'
import { apply, type CreatedData } from './machine.ts'
import type { EventsOptions } from './reader.ts'
import { openRecorder } from './recorder.ts'

export interface CreateRunOptions {
  /** The resolved config. Its canonical form gives the fingerprint. */
  readonly config: Readonly<Record<string, unknown>>
  /** The bytes of config.yaml, if a person wrote them; default: `config` as YAML. */
  readonly configText?: string
  /** Of a config that was resolved for another run; default: that of `config`. */
  readonly configFingerprint?: string
  readonly prompt: string
  /** Host path of the run directory. It must not exist; missing parents are made. */
  readonly sandboxPath: string
  readonly sessionId?: string | undefined
  readonly taskId?: string | undefined
  readonly runId?: string | undefined
  readonly profileId?: string | null
  readonly executor?: string | null
  readonly sessionTitle?: string | null
  readonly taskTitle?: string | null
  /** Required files below deliverables/. */
  readonly deliverables?: readonly Deliverable[]
  /** A finished run waits for a person. Recorded in task.yaml; the executor asks for `review_required`. */
  readonly review?: boolean
  readonly revisionOf?: string | null
  readonly forkedFrom?: { readonly run_id: string; readonly seq: number } | null
  /** Laid before the run can be seen. Default: an empty workspace. */
  readonly beginning?: Beginning
  readonly artifactLimits?: ArtifactLimits
  /** Called with every event once it has been written, from the first on. It must not throw. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  readonly failpoint?: Failpoint
  readonly now?: () => number
}

export interface TransitionOptions {
  /** One word, for `failed` and `lost` required: `exit_nonzero`, `oom`, `server_crash`. */
  readonly reason?: string
  /** A sentence for people. */
  readonly summary?: string
  readonly actor?: RunEvent['actor']
  readonly data?: EventData
}

export interface Run extends AsyncDisposable {
  /** Host path of the run directory. */
  readonly directory: string
  /** run.json as it stands. */
  readonly record: RunRecord
  /**
   * Answers when the new state outlives a power cut. To an end, or to `review_required`, it makes the artifact manifest
   * first; a run that would be completed without its required deliverables becomes `failed`: look at the answer.
   */
  transition(to: RunStatus, options?: TransitionOptions): Promise<RunRecord>
  /** D1 unless told otherwise. Refused with RUN_ENDED after the end, with NO_SPACE once the disk was full. */
  append(input: EventInput, options?: { readonly durability?: Durability }): Promise<RunEvent>
  /** From the disk, in order. */
  events(options?: EventsOptions): AsyncIterable<RunEvent>
  /** Walks the trees as they are now. Writes nothing. */
  artifacts(options?: { readonly signal?: AbortSignal }): Promise<ArtifactManifest>
  /** Replaces sandbox-manifest.json and records its hash. */
  recordSandbox(manifest: Omit<SandboxManifest, 'run_id' | 'recorded_at'>): Promise<void>
  /** Replaces effective-system-prompt.md and records its hash. */
  recordSystemPrompt(text: string): Promise<void>
  /** From now on no value that it knows gets into the log, the transcript or the artifact manifest. */
  conceal(redaction: Redaction): void
  /** Adds to transcript.md. */
  say(text: string): void
  /** Settles when everything that was appended so far outlives a power cut. */
  sync(): Promise<void>
  /** Lets go of the run. It does not end it: a run that is at work and has no owner counts as crashed. */
  close(): Promise<void>
}

export async function createRun(options: CreateRunOptions): Promise<Run> {
  const identity = identify(options)
  // First: what has no fingerprint has no YAML either.
  const configFingerprint = options.configFingerprint ?? fingerprint(options.config)
  const now = options.now ?? Date.now
  const createdAt = new Date(now()).toISOString()
  const snapshots = snapshotsOf(options, identity, createdAt)
  const first = firstEvent(options, { identity, configFingerprint, snapshots, createdAt })
  const record = apply(undefined, first.event)
  const failpoint = options.failpoint ?? noFailpoint
  const directory = resolve(options.sandboxPath)
  const files = { ...snapshots, 'run.json': runJsonText(record), 'events.jsonl': first.line, 'transcript.md': '' }
  const ownership = await publishLayout({ directory, files, failpoint, beginning: options.beginning })
  try {
    const recorder = openRecorder({
      path: placeIn(directory, 'events.jsonl'),
      ids: record,
      head: { seq: 1, hash: first.event.hash },
      failpoint,
      now,
    })
    const deliverables = options.deliverables ?? []
    const { artifactLimits: limits, onEvent } = options
    const run = new LiveRun({ directory, record, recorder, ownership, deliverables, limits, onEvent, failpoint, now })
    onEvent?.(first.event)
    return run
  } catch (error) {
    ownership.release()
    throw error
  }
}

type Snapshots = Readonly<Record<Exclude<RunFile, 'run.json' | 'events.jsonl' | 'transcript.md'>, string>>

function snapshotsOf(options: CreateRunOptions, { runId, sessionId, taskId }: Identity, createdAt: string): Snapshots {
  const session = { session_id: sessionId, title: options.sessionTitle ?? null, created_at: createdAt }
  const task = {
    task_id: taskId,
    session_id: sessionId,
    title: options.taskTitle ?? null,
    prompt_sha256: sha256(options.prompt),
    deliverables: options.deliverables ?? [],
    review: options.review ?? false,
    revision_of: options.revisionOf ?? null,
    created_at: createdAt,
  }
  return {
    'session.json': json(session),
    'task.yaml': stringify(task),
    'prompt.md': options.prompt,
    'config.yaml': options.configText ?? stringify(options.config),
    'effective-system-prompt.md': '',
    'sandbox-manifest.json': json(unmadeSandbox(runId)),
    'artifact-manifest.json': json(emptyManifest(runId, 'not_recorded', null)),
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const unmadeSandbox = (runId: string): SandboxManifest => ({
  run_id: runId,
  recorded_at: null,
  sandbox_id: null,
  backend: null,
  backend_version: null,
  cwd: null,
  mounts: [],
  policy: [],
  enforced: [],
  not_enforced: [],
  environment: [],
  plan_fingerprint: null,
})

interface Made {
  readonly identity: Identity
  readonly configFingerprint: string
  readonly snapshots: Snapshots
  readonly createdAt: string
}

function firstEvent(options: CreateRunOptions, made: Made): EncodedEvent {
  const { identity, snapshots, createdAt } = made
  const data: CreatedData = {
    layout: layoutVersion,
    profile_id: options.profileId ?? null,
    config_fingerprint: made.configFingerprint,
    executor: options.executor ?? null,
    revision_of: options.revisionOf ?? null,
    forked_from: options.forkedFrom ?? null,
    files: {
      ...Object.fromEntries(Object.entries(snapshots).map(([name, text]) => [name, sha256(text)])),
      ...(options.beginning === undefined ? {} : { [forkFile]: sha256(options.beginning.record) }),
    },
  }
  const ids = { run_id: identity.runId, session_id: identity.sessionId, task_id: identity.taskId }
  const input = { type: 'run_created', summary: 'The run was created.', data }
  return encodeEvent(input, { seq: 0, hash: firstPrevHash }, ids, createdAt)
}

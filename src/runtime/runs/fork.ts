// A run forked: the moment is found, the cheapest honest way is chosen by trying it, and the new run is made, pending, with the
// other one's prompt and config. Also the other half: what a fork's sandbox has to show. Promises that nothing is copied in
// silence, and that a fork whose ground was changed is not started. Must not know who asks.
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Backend } from '../../contract/backend.ts'
import type { ForkMethod, ForkRecord } from '../../contract/fork.ts'
import type { GuestPath, HostPath } from '../../contract/mount.ts'
import { newRunId, type RunRecord } from '../../contract/run.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { makeDirectories } from '../../paths/make-directories.ts'
import { removeTreeAtOnce } from '../../paths/remove-tree.ts'
import { planFork, requireForkable, type Parent, type PlannedFork } from '../../runs/fork/fork.ts'
import { canReflink } from '../../runs/fork/method.ts'
import { findFork, layersUnder, workIn } from '../../runs/fork/record.ts'
import { requireUnchanged, type BaseLook } from '../../runs/fork/unchanged.ts'
import { placeIn } from '../../runs/layout.ts'
import { onTheWay } from '../../runs/place.ts'
import { createRun, type CreateRunOptions } from '../../runs/run.ts'
import { readSnapshots, type Snapshots } from '../../runs/snapshots.ts'
import { stagePrefix } from '../../runs/stages.ts'
import { asStorageError } from '../../runs/storage-error.ts'
import { openAudit } from '../audit.ts'
import { defaultBackend, openBackendFor, type CreateOptions } from '../create.ts'
import type { MountRequest } from '../mount-text.ts'
import { stateHome } from '../state.ts'
import { findPoint, type AskedPoint } from './fork-point.ts'
import { lookAtRun } from './look.ts'
import { triedOnce } from './overlay-tries.ts'

export interface ForkRequest {
  /** Of the run that is forked. */
  readonly directory: string
  /** Default: as it is, at its end. */
  readonly at?: AskedPoint | undefined
  /** Host path of the new run. Default: beside the other one, under its own id. */
  readonly sandboxPath?: string | undefined
  readonly runId?: string | undefined
  /** Default: that of the other run. */
  readonly prompt?: string | undefined
  /** `copy` makes the new run independent of the other. Default: by overlay where it can be. */
  readonly method?: 'cheapest' | 'copy' | undefined
  readonly sandbox?: Pick<CreateOptions, 'backend' | 'ownsProcess'> | undefined
}

/** All that a new run needs to begin as a fork; for whoever starts it at once. */
export interface Fork {
  readonly plan: PlannedFork
  readonly directory: string
  readonly snapshots: Snapshots
  readonly identity: Pick<
    CreateRunOptions,
    | 'runId'
    | 'sessionId'
    | 'taskId'
    | 'profileId'
    | 'sessionTitle'
    | 'taskTitle'
    | 'deliverables'
    | 'review'
    | 'forkedFrom'
    | 'beginning'
    | 'prompt'
  >
}

export interface ForkedRun {
  readonly directory: string
  readonly record: RunRecord
  readonly fork: ForkRecord
  /** What was copied, and how long it took from request to answer. */
  readonly cost: { readonly entries: number; readonly bytes: number; readonly durationMs: number }
}

export async function forkRun(request: ForkRequest): Promise<ForkedRun> {
  const begun = performance.now()
  const { plan, directory, snapshots, identity } = await prepareFork(request)
  const { run_id: subject, forked_from: origin } = plan.record
  await using audit = await openAudit(stateHome())
  const entry = {
    actor: 'operator',
    action: 'run.fork',
    subject,
    data: { directory: directory.slice(0, 2000), from: origin.run_id, by: plan.record.by },
  }
  await using run = await audit.perform(entry, () =>
    createRun({
      ...identity,
      sandboxPath: directory,
      config: {},
      configText: snapshots.configText,
      configFingerprint: snapshots.created.config_fingerprint,
      executor: snapshots.created.executor,
    }),
  )
  const durationMs = Math.round((performance.now() - begun) * 10) / 10
  return { directory, record: run.record, fork: plan.record, cost: { ...plan.cost(), durationMs } }
}

export async function prepareFork(request: ForkRequest): Promise<Fork> {
  const parent = await openParent(request.directory)
  const point = await findPoint(parent, request.at)
  const snapshots = await readSnapshots(parent.directory)
  const runId = request.runId ?? newRunId()
  const directory = resolve(request.sandboxPath ?? join(dirname(parent.directory), runId))
  const { by, why } = await chooseMethod(request, parent, directory)
  const plan = await planFork({ parent, point, runId, directory: realPlace(directory), by, why })
  const { created, task, session } = snapshots
  const isSameTask = request.prompt === undefined || request.prompt === snapshots.prompt
  const identity = {
    runId,
    prompt: request.prompt ?? snapshots.prompt,
    sessionId: created.session_id,
    sessionTitle: session.title,
    ...(isSameTask ? { taskId: created.task_id, taskTitle: task.title } : {}),
    profileId: created.profile_id,
    deliverables: task.deliverables,
    review: task.review,
    forkedFrom: plan.record.forked_from,
    beginning: plan.beginning,
  }
  return { plan, directory, snapshots, identity }
}

async function openParent(asked: string): Promise<Parent> {
  const directory = realOf(asked)
  const { record, damage, isCrashed } = await lookAtRun(directory)
  if (record === null || damage !== null)
    throw new GloveboxError('RECORD_DAMAGED', 'Cannot fork the run: its record is damaged', {
      hint: '`glovebox runs verify` tells what is wrong.',
      ...(damage === null ? {} : { operatorDetail: damage }),
    })
  if (isCrashed)
    throw new GloveboxError('BUSY', 'Cannot fork the run: its process is gone, and it has not been ended', {
      hint: 'Run: glovebox runs recover',
    })
  requireForkable(record)
  return { directory, record }
}

function realOf(directory: string): string {
  try {
    return realpathSync(directory)
  } catch (error) {
    throw asStorageError(error, 'read the run')
  }
}

/** The directory does not exist yet; what leads to it may be a link. */
function realPlace(directory: string): string {
  return onTheWay(() => {
    makeDirectories(dirname(directory))
    return join(realpathSync(dirname(directory)), directory.slice(dirname(directory).length + 1))
  })
}

interface Chosen {
  readonly by: ForkMethod
  readonly why: string | null
}

async function chooseMethod(request: ForkRequest, parent: Parent, directory: string): Promise<Chosen> {
  const into = dirname(realPlace(directory))
  const why = request.method === 'copy' ? 'a copy was asked for' : await whyNoOverlay(request, parent, into)
  if (why === null) return { by: 'overlay', why }
  return { by: canReflink(placeIn(parent.directory, 'workspace'), into) ? 'reflink' : 'copy', why }
}

/** Null when it was tried, and works. */
async function whyNoOverlay(request: ForkRequest, parent: Parent, into: string): Promise<string | null> {
  const lower = [placeIn(parent.directory, 'workspace'), ...layersUnder(parent.directory)]
  if (lower.some((layer) => statSync(layer).dev !== statSync(into).dev))
    return 'the two runs lie on different file systems'
  const asked = request.sandbox?.backend ?? defaultBackend()
  const attempt = async (): Promise<string | null> => {
    const backend = await openBackendFor(request.sandbox ?? {})
    try {
      return await tryOverlay(backend, lower, into)
    } finally {
      if (typeof asked !== 'object') await backend.close?.()
    }
  }
  if (typeof asked === 'object') return attempt()
  return triedOnce(stateHome(), { backend: asked, device: statSync(into).dev }, attempt)
}

/** Null when it was laid, and taken away again; else why not. */
export async function tryOverlay(backend: Backend, lower: readonly string[], into: string): Promise<string | null> {
  if (backend.tryLayers === undefined) return `${backend.name} lays no layers`
  if (backend.capabilities['mount.layers'] === undefined)
    return `${backend.name} lays no layers when an ordinary user starts it`
  // Of a kill this is left; it is swept away as a run that was never finished is.
  const trial = join(into, `${stagePrefix}${randomBytes(12).toString('hex')}`)
  mkdirSync(trial, { mode: 0o700 })
  try {
    const [hostPath, work] = [join(trial, 'upper'), join(trial, 'work')]
    mkdirSync(work)
    mkdirSync(hostPath)
    const { uid, gid, mode } = statSync(lower[0] ?? into)
    chownSync(hostPath, uid, gid)
    chmodSync(hostPath, mode & 0o7777)
    await backend.tryLayers({
      guestPath: '/workspace' as GuestPath,
      hostPath: hostPath as HostPath,
      mode: 'rw',
      over: { lower: lower as readonly HostPath[], work: work as HostPath },
    })
    return null
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    return `an overlay cannot be laid here (${error.operatorDetail ?? error.message})`
  } finally {
    removeTreeAtOnce(trial)
  }
}

/** The mount of a run's workspace, with what is seen through it. `look` is set for a fork by overlay. */
export async function workspaceMount(
  directory: string,
): Promise<{ readonly mount: MountRequest; readonly look?: BaseLook }> {
  const plain = { guestPath: '/workspace', hostPath: placeIn(directory, 'workspace'), mode: 'rw' } as const
  const fork = findFork(directory)
  if (fork === undefined || fork.layers.length === 0) return { mount: plain }
  const look = await requireUnchanged(directory, fork)
  return { mount: { ...plain, over: { lower: layersUnder(directory, fork), work: workIn(directory) } }, look }
}

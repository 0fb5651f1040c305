// Execs as the server has them: their directories below the workspace's root, sandboxes of the operator's backend, and what
// `/sandbox/health` tells of both.
import type { ExecHealth } from '../../contract/exec-record.ts'
import type { Store } from '../../contract/store.ts'
import { openExecs, type Execs } from '../../execs/execs.ts'
import type { RoomLimits } from '../../execs/room.ts'
import type { Settings } from '../settings.ts'
import type { ServedBackends } from './backends.ts'
import { essentialNames, execBoundaries } from './exec-boundaries.ts'
import { openExecHealth } from './exec-health.ts'
import { openImages } from './images.ts'
import { placeWorkspace } from './workspace.ts'

export interface ServedExecsOptions {
  readonly store: Store
  readonly backends: ServedBackends
  readonly settings: Settings
  /** The server's data home, below which execs lie if the settings name no place. */
  readonly data: string
  readonly log: (about: string, error: unknown) => void
}

export interface ServedExecs {
  readonly execs: Execs
  health(): Promise<ExecHealth>
  close(): Promise<void>
}

/** To whom a root server gives what its guests may write: Docker's user, and for bubblewrap one as good as any. */
const guestOfRoot = { uid: 1000, gid: 1000 } as const

export async function openServedExecs({
  store,
  backends,
  settings,
  data,
  log,
}: ServedExecsOptions): Promise<ServedExecs> {
  const workspace = placeWorkspace(settings.sandbox, data)
  const backend = await backends.get(undefined)
  const images = backend.name === 'docker' ? openImages(settings.docker) : undefined
  const execs = await openExecs({
    store,
    root: workspace.host_path_native,
    boundaries: execBoundaries({
      backend,
      layers: settings.layers,
      env: settings.env ?? {},
      vaults: settings.vaults,
      ...(images === undefined ? {} : { openForImage: (image) => images.open(image) }),
    }),
    log,
    guest: process.geteuid?.() === 0 ? guestOfRoot : undefined,
    standIns: essentialNames,
    limits: limitsIn(settings.sandbox),
  })
  return {
    execs,
    health: openExecHealth(workspace, backends, execs),
    async close() {
      await execs.close()
      await images?.close()
    },
  }
}

function limitsIn(settings: Settings['sandbox']): Partial<RoomLimits> {
  const { max_concurrent_execs, max_queued_execs, max_queued_execs_per_project } = settings ?? {}
  return {
    ...(max_concurrent_execs === undefined ? {} : { maxConcurrent: max_concurrent_execs }),
    ...(max_queued_execs === undefined ? {} : { maxQueued: max_queued_execs }),
    ...(max_queued_execs_per_project === undefined ? {} : { maxQueuedPerProject: max_queued_execs_per_project }),
  }
}

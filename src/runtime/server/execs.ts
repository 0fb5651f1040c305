// Execs as the server has them: their directories below the workspace's root, sandboxes of the operator's backend, and what
// `/sandbox/health` tells of both.
import type { Backend } from '../../contract/backend.ts'
import type { ExecHealth } from '../../contract/exec-record.ts'
import type { Store } from '../../contract/store.ts'
import { openExecs, type ExecLimits, type Execs } from '../../execs/execs.ts'
import { runningPlace } from '../../execs/layout.ts'
import type { NativeRoot } from '../../paths/native/adapt.ts'
import { openBackendFor } from '../create.ts'
import { askedFailpoints } from '../failpoints.ts'
import type { Settings } from '../settings.ts'
import type { ServedBackends } from './backends.ts'
import { essentialNames, execBoundaries } from './exec-boundaries.ts'
import { openExecHealth } from './exec-health.ts'
import { openImages } from './images.ts'

export interface ServedExecsOptions {
  readonly store: Store
  readonly backends: ServedBackends
  readonly settings: Settings
  readonly workspace: NativeRoot
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
  workspace,
  log,
}: ServedExecsOptions): Promise<ServedExecs> {
  const [backend] = backends.names
  // Settings that nothing can be opened with end the start.
  await backends.get(backend)
  const lastingDir = runningPlace(workspace.host_path_native)
  const openFor = (image: string): Promise<Backend> =>
    openBackendFor({ backend: 'docker', docker: { ...settings.docker, image }, lastingDir })
  const images = backend === 'docker' ? openImages(openFor) : undefined
  const execs = await openExecs({
    store,
    root: workspace.host_path_native,
    boundaries: execBoundaries({
      backend,
      open: () => backends.get(backend),
      layers: settings.layers,
      env: settings.env ?? {},
      vaults: settings.vaults,
      ...(images === undefined ? {} : { useImage: (image) => images.use(image) }),
    }),
    log,
    guest: process.geteuid?.() === 0 ? guestOfRoot : undefined,
    standIns: essentialNames,
    limits: limitsIn(settings.sandbox),
    failpoint: askedFailpoints(),
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

function limitsIn(settings: Settings['sandbox']): Partial<ExecLimits> {
  const asked = {
    maxConcurrent: settings?.max_concurrent_execs,
    maxQueued: settings?.max_queued_execs,
    maxQueuedPerProject: settings?.max_queued_execs_per_project,
    maxInputBytes: settings?.max_input_bytes,
    maxInputFiles: settings?.max_input_files,
  }
  return Object.fromEntries(Object.entries(asked).filter(([, limit]) => limit !== undefined))
}

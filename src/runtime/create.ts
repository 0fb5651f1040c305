// The one composition root: joins settings, policy, paths and a backend into a sandbox. Everything below is handed what it
// needs from here; nothing below reads configuration or the environment by itself. Promises a whole sandbox or an error with
// nothing left behind. Must not know how any backend works, nor who asks: command line and library come in by one door.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { backendNames, openBackend, type BackendOptions } from '../backends/registry.ts'
import type { Backend, BackendName, Plan, SandboxSpec } from '../contract/backend.ts'
import { newSandboxId, type SandboxId } from '../contract/ids.ts'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import type { PolicyLayer, ResolvedPolicy } from '../contract/policy.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import { GloveboxError } from '../errors/error.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { sweepLocks } from '../paths/lock-file.ts'
import { checkEnvironment, guestEnvironment } from '../policy/environment.ts'
import { accountFor } from '../policy/enforce.ts'
import { resolvePolicy } from '../policy/resolve.ts'
import { closeScratch, openScratch, sweepScratch } from '../process/scratch.ts'
import { prepareHome } from './home.ts'
import { asHostFault } from './host-fault.ts'
import type { MountRequest } from './mount-text.ts'
import { resolveMounts } from './mounts.ts'
import { liveSandbox } from './sandbox.ts'
import { findSearchProgram } from './search-program.ts'
import { stateHome } from './state.ts'

export interface CreateOptions {
  /** A name, or a backend that the caller opened itself. Default: the platform's own, never `local`. */
  readonly backend?: BackendName | Backend
  /** For the backend docker: its image, and the container runtime. */
  readonly docker?: BackendOptions['docker']
  /** Default: one empty workspace that ends with the sandbox. */
  readonly mounts?: readonly MountRequest[]
  readonly layers: readonly PolicyLayer[]
  readonly env?: Readonly<Record<string, string>>
  /** Guest path in which commands begin. Default: /workspace, or the first mount. */
  readonly cwd?: string
  /** The process is Glovebox's own, as on the command line: it may be changed for the sandbox's sake. */
  readonly ownsProcess?: boolean
  /** Where the agent's HOME lies: with the project in /workspace (default), or nowhere after the sandbox has ended. */
  readonly home?: 'project' | 'scratch'
}

export interface Planned {
  readonly id: SandboxId
  readonly backend: Backend
  readonly plan: Plan
  readonly resolved: ResolvedPolicy
  /** Removed when the sandbox ends. */
  readonly scratch: HostPath
  /** Opened for this sandbox alone, and so closed with it. */
  readonly ownsBackend: boolean
}

// SECURITY: a directory of the host that is not visible inside would tell the agent how the host is laid out.
// test/attacks/environment: "PATH shows no host-only directory and none relative to the cwd"
const guestSystemPrefixes = ['/usr', '/bin', '/sbin']

export const createSandbox = async (options: CreateOptions): Promise<Sandbox> =>
  (await createPlannedSandbox(options)).sandbox

/** For those who keep a record of what was made. */
export async function createPlannedSandbox(
  options: CreateOptions,
): Promise<{ readonly sandbox: Sandbox; readonly planned: Planned }> {
  try {
    return await makeSandbox(options)
  } catch (error) {
    throw asHostFault(error, 'make the sandbox')
  }
}

async function makeSandbox(options: CreateOptions): Promise<{ readonly sandbox: Sandbox; readonly planned: Planned }> {
  const planned = await planSandbox(options)
  try {
    const boundary = await planned.backend.create(planned.id, planned.plan)
    return { planned, sandbox: liveSandbox({ ...planned, boundary, onEnd: () => discardPlanned(planned) }) }
  } catch (error) {
    await discardPlanned(planned)
    throw error
  }
}

/** Everything up to, but not including, the making: what `explain` shows. */
export async function planSandbox(options: CreateOptions): Promise<Planned> {
  checkEnvironment(options.env ?? {})
  const resolved = resolvePolicy(options.layers)
  const stateDir = stateHome()
  const backend = await chooseBackend(options, stateDir)
  const ownsBackend = typeof options.backend !== 'object'
  const id = newSandboxId()
  let scratch: HostPath | undefined
  try {
    sweepScratch(join(stateDir, 'sandboxes'))
    sweepLocks(join(stateDir, 'locks') as HostPath)
    scratch = openScratch(join(stateDir, 'sandboxes'), id) as HostPath
    const mounts = options.mounts === undefined ? [emptyWorkspace(scratch)] : resolveMounts(options.mounts)
    const projects = options.home === 'scratch' ? [] : mounts
    const home = await prepareHome(projects, scratch, join(stateDir, 'locks') as HostPath)
    const spec: SandboxSpec = {
      mounts,
      home,
      cwd: chooseCwd(options.cwd, mounts),
      policy: resolved.effective,
      demanded: resolved.demanded,
      env: guestEnvironment({
        operatorEnv: process.env,
        allow: resolved.effective.env,
        home: home.guestPath,
        path: guestSystemPrefixes,
        extra: options.env ?? {},
      }),
    }
    const plan = backend.compile(spec)
    requireEnforceable(backend, spec)
    return { id, backend, plan, resolved, scratch, ownsBackend }
  } catch (error) {
    await discardPlanned({ backend, scratch, ownsBackend })
    throw error
  }
}

interface Discarded extends Pick<Planned, 'backend' | 'ownsBackend'> {
  readonly scratch: HostPath | undefined
}

export async function discardPlanned({ backend, scratch, ownsBackend }: Discarded): Promise<void> {
  if (scratch !== undefined) closeScratch(scratch)
  if (ownsBackend) await backend.close?.()
}

/** SECURITY: asked here as well as by the backends themselves, since a backend may be anybody's.
 * test/attacks/policy: "a backend without a wall is refused and not used without it" */
function requireEnforceable({ name, capabilities }: Backend, { policy, demanded, mounts }: SandboxSpec): void {
  accountFor({
    backend: name,
    capabilities,
    isolates: capabilities['filesystem.isolated'] !== undefined,
    effective: policy,
    demanded,
    mounts,
    why: (capability) => `${name} does not claim ${capability}`,
  })
}

function emptyWorkspace(scratch: HostPath): Mount {
  const hostPath = join(scratch, 'workspace') as HostPath
  mkdirSync(hostPath)
  return { guestPath: '/workspace' as GuestPath, hostPath, mode: 'rw' }
}

/** Never falls back: what is asked for is opened, or the reason is told. */
async function chooseBackend(
  { backend, docker, ownsProcess = false }: BackendChoice,
  stateDir: HostPath,
): Promise<Backend> {
  if (typeof backend === 'object') return backend
  return openBackend(backend ?? defaultBackend(), {
    stateDir,
    searchProgram: findSearchProgram(),
    ownsProcess,
    operatorEnv: process.env,
    ...(docker === undefined ? {} : { docker }),
  })
}

type BackendChoice = Pick<CreateOptions, 'backend' | 'docker' | 'ownsProcess'>

/** For those who look at a backend before they make a sandbox with it, and then hand it over opened. */
export const openBackendFor = (options: BackendChoice): Promise<Backend> => chooseBackend(options, stateHome())

export function defaultBackend(platform: NodeJS.Platform = process.platform): BackendName {
  if (platform === 'linux') return 'bwrap'
  throw new GloveboxError(
    'BACKEND_UNAVAILABLE',
    `Cannot choose a backend: none of ${backendNames.join(', ')} isolates on ${platform}`,
    {
      hint: 'Run on Linux. The backend local runs here too, but isolates nothing; it must be asked for by name.',
    },
  )
}

function chooseCwd(asked: string | undefined, mounts: readonly Mount[]): GuestPath {
  const workspace = '/workspace' as GuestPath
  const start = mounts.some((mount) => mount.guestPath === workspace)
    ? workspace
    : (mounts[0]?.guestPath ?? ('/tmp' as GuestPath))
  return asked === undefined ? start : parseGuestPath(asked, start)
}

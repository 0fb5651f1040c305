// The one composition root: joins settings, policy, paths and a backend into a sandbox. Everything below is handed what it
// needs from here; nothing below reads configuration or the environment by itself. Promises a whole sandbox or an error with
// nothing left behind. Must not know how any backend works, nor who asks: command line and library come in by one door.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as othersFirst } from 'node:timers/promises'
import { backendNames, openBackend, type BackendOptions } from '../backends/registry.ts'
import type { Backend, BackendName, Boundary, CatalogPlace, Plan, SandboxSpec } from '../contract/backend.ts'
import { newSandboxId, type SandboxId, type ShellId } from '../contract/ids.ts'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import type { PolicyLayer, ResolvedPolicy } from '../contract/policy.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import { GloveboxError } from '../errors/error.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { sweepLocks } from '../paths/lock-file.ts'
import { checkEnvironment, guestEnvironment } from '../policy/environment.ts'
import { resolvePolicy } from '../policy/resolve.ts'
import { closeScratch, openScratch, sweepScratch } from '../process/scratch.ts'
import type { Spawner } from '../process/spawn.ts'
import type { CatalogAbout } from './catalog/catalogued.ts'
import { placeCatalog } from './catalog/place.ts'
import type { LearningRedaction } from '../vaults/redaction/redaction.ts'
import { requireEnforceable } from './enforceable.ts'
import { prepareHome } from './home.ts'
import { asHostFault } from './host-fault.ts'
import type { MountRequest } from './mount-text.ts'
import { resolveMounts } from './mounts.ts'
import { liveSandbox } from './sandbox.ts'
import {
  lazySpawner,
  mountRequestsFor,
  openSecrets,
  openVaults,
  type OpenedVaults,
  type Secrets,
  type VaultRequests,
} from './secrets.ts'
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
  /** By name; each stands at /vaults/<name>. A mount of mode `vault` that stands there is one, too. */
  readonly vaults?: VaultRequests
  /** Shared by sandboxes that see the same files. Default: each has its own. */
  readonly redaction?: LearningRedaction | undefined
  /** Guest path in which commands begin. Default: /workspace, or the first mount. */
  readonly cwd?: string
  /** The process is Glovebox's own, as on the command line: it may be changed for the sandbox's sake. */
  readonly ownsProcess?: boolean
  /** Where the agent's HOME lies: with the project in /workspace (default), or nowhere after the sandbox has ended. */
  readonly home?: 'project' | 'scratch'
  /** What the catalog tells beside what the sandbox knows of itself. `none`: there is no catalog. */
  readonly catalog?: CatalogAbout | 'none'
  /** How its shells are called. Default: as nothing else is. */
  readonly newShellId?: () => ShellId
  /** A place under an id that was there before the sandbox and stays after it. Default: both are new, and end with it. */
  readonly member?: MemberPlace
}

export interface MemberPlace {
  /** What its users call it. */
  readonly id: SandboxId
  /**
   * Another one for each opening: a process that has lost the member may still hold a boundary of it, and whatever a backend
   * keeps under a boundary's id must not be taken for that of the next.
   */
  readonly boundaryId: SandboxId
  /** Stands between the boundary and all that uses it. */
  readonly guard: (boundary: Boundary) => Boundary
  /** Its workspace and home lie there, as an earlier sandbox of this id left them. */
  readonly directory: HostPath
}

export interface Planned {
  readonly id: SandboxId
  readonly backend: Backend
  readonly plan: Plan
  readonly resolved: ResolvedPolicy
  readonly secrets: Secrets
  /** For the catalog. */
  readonly about: CatalogAbout
  /** Where its own files lie. Removed when the sandbox ends, unless a member owns it. */
  readonly scratch: HostPath
  readonly keepsScratch: boolean
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
  // Of a pool others are answered in between; nobody else is waiting where there is none.
  if (options.member !== undefined) await othersFirst()
  try {
    const made = await planned.backend.create(planned.id, planned.plan)
    const { id, guard } = options.member ?? { id: planned.id, guard: (boundary: Boundary) => boundary }
    const { newShellId } = options
    const naming = newShellId === undefined ? {} : { newShellId }
    const live = { ...planned, ...naming, id, guard, boundary: guard(made), onEnd: () => discardPlanned(planned) }
    return { planned, sandbox: liveSandbox(live) }
  } catch (error) {
    await discardQuietly(planned)
    throw error
  }
}

/** Everything up to, but not including, the making: what `explain` shows. */
export async function planSandbox(options: CreateOptions, resolve = resolvePolicy): Promise<Planned> {
  checkEnvironment(options.env ?? {})
  const resolved = resolve(options.layers)
  const stateDir = stateHome()
  const backend = await chooseBackend(options, stateDir)
  const ownsBackend = typeof options.backend !== 'object'
  const { member } = options
  const id = member?.boundaryId ?? newSandboxId()
  const keepsScratch = member !== undefined
  const spawner = lazySpawner()
  let scratch: HostPath | undefined
  let secrets: Secrets | undefined
  try {
    // Whoever keeps members has done so before.
    if (member === undefined) {
      sweepScratch(join(stateDir, 'sandboxes'))
      sweepLocks(join(stateDir, 'locks') as HostPath)
    }
    scratch = member?.directory ?? (openScratch(join(stateDir, 'sandboxes'), id) as HostPath)
    const opened = openMounts(options, scratch, spawner.get)
    const { mounts } = opened
    secrets = openSecrets(opened.vaults, spawner, options.redaction)
    const projects = options.home === 'scratch' ? [] : mounts
    if (member !== undefined) await othersFirst()
    const home = await prepareHome(projects, scratch, join(stateDir, 'locks') as HostPath)
    await backend.ready?.()
    const { catalog: about = {} } = options
    const catalog = about === 'none' ? undefined : placeCatalog(mounts, scratch)
    const plan = compilePlan(backend, resolved, { ...options, mounts, home, catalog })
    return {
      id,
      backend,
      plan,
      resolved,
      secrets,
      about: about === 'none' ? {} : about,
      scratch,
      keepsScratch,
      ownsBackend,
    }
  } catch (error) {
    await discardQuietly({ backend, secrets, scratch, keepsScratch, ownsBackend })
    throw error
  }
}

type Opened = Pick<OpenedVaults, 'vaults'> & { readonly mounts: readonly Mount[] }

function openMounts({ mounts, vaults = {} }: CreateOptions, scratch: HostPath, spawner: () => Spawner): Opened {
  const asked = [...(mounts ?? []), ...mountRequestsFor(vaults)]
  const given = [...(mounts === undefined ? [emptyWorkspace(scratch)] : []), ...resolveMounts(asked)]
  const opened = openVaults(vaults, given, { scratch, spawner })
  return { vaults: opened.vaults, mounts: [...given, ...opened.mounts] }
}

/** The plan of a sandbox that stands already, under somebody's own wishes. Touches nothing, and says nothing of whether it fits. */
export function planAgain(
  { backend, plan }: Planned,
  wishes: Pick<CreateOptions, 'layers' | 'env' | 'cwd'>,
  resolve = resolvePolicy,
): Pick<Planned, 'plan' | 'resolved'> {
  checkEnvironment(wishes.env ?? {})
  const resolved = resolve(wishes.layers)
  const { mounts, home, catalog } = plan.spec
  return { resolved, plan: compilePlan(backend, resolved, { ...wishes, mounts, home, catalog }) }
}

interface Wishes extends Pick<SandboxSpec, 'mounts' | 'home'> {
  readonly catalog: CatalogPlace | undefined
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

function compilePlan(backend: Backend, resolved: ResolvedPolicy, wishes: Wishes): Plan {
  const { mounts, home, catalog, cwd, env = {} } = wishes
  const spec: SandboxSpec = {
    mounts,
    home,
    cwd: chooseCwd(cwd, mounts),
    policy: resolved.effective,
    demanded: resolved.demanded,
    env: guestEnvironment({
      operatorEnv: process.env,
      allow: resolved.effective.env,
      home: home.guestPath,
      path: guestSystemPrefixes,
      extra: env,
    }),
    ...(catalog === undefined ? {} : { catalog }),
  }
  const plan = backend.compile(spec)
  requireEnforceable(backend, spec)
  return plan
}

interface Discarded extends Pick<Planned, 'backend' | 'ownsBackend' | 'keepsScratch'> {
  readonly scratch: HostPath | undefined
  readonly secrets: Secrets | undefined
}

export async function discardPlanned(planned: Discarded): Promise<void> {
  const { backend, secrets, scratch, keepsScratch, ownsBackend } = planned
  secrets?.close()
  try {
    // First: removing a directory takes descriptors, and where there are none the backend still holds some.
    if (ownsBackend) await backend.close?.()
  } finally {
    if (scratch !== undefined && !keepsScratch) closeScratch(scratch)
  }
}

/** After a fault, which is what the caller must know. What cannot be removed now is swept at the next start. */
const discardQuietly = (planned: Discarded): Promise<void> => discardPlanned(planned).catch(() => {})

function emptyWorkspace(scratch: HostPath): Mount {
  const hostPath = join(scratch, 'workspace') as HostPath
  mkdirSync(hostPath, { recursive: true })
  return { guestPath: '/workspace' as GuestPath, hostPath, mode: 'rw' }
}

/** Never falls back: what is asked for is opened, or the reason is told. */
async function chooseBackend(
  { backend, docker, lastingDir, ownsProcess = false }: BackendChoice,
  stateDir: HostPath,
): Promise<Backend> {
  if (typeof backend === 'object') return backend
  return openBackend(backend ?? defaultBackend(), {
    stateDir,
    searchProgram: findSearchProgram(),
    ownsProcess,
    operatorEnv: process.env,
    lastingDir,
    ...(docker === undefined ? {} : { docker }),
  })
}

export type BackendChoice = Pick<CreateOptions, 'backend' | 'docker' | 'ownsProcess'> &
  Pick<BackendOptions, 'lastingDir'>

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

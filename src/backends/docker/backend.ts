// docker: containers by way of the docker command line, with runc or gVisor as their runtime. For hosts that have a daemon, and for
// commands that need another system than the host's. Promises that a command runs inside the whole boundary or not at all, and
// that nothing but containers of this installation is ever touched. Whoever may speak to the daemon is root on its host: the guest
// never may. Knows nothing of sandboxes' users, of actions or of records.
import { randomUUID } from 'node:crypto'
import type { Backend, Boundary } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { sweepScratch } from '../../process/scratch.ts'
import { openSpawner } from '../../process/spawn.ts'
import { startWarden, type Warden } from '../../process/warden.ts'
import { sweepPlaceholders } from '../../guards/placeholders.ts'
import { endContainersAfterUs, type AfterUs } from './after-us.ts'
import { createBoundary, scratchRoot, type Assembled } from './assemble.ts'
import { capabilitiesFor } from './capabilities.ts'
import { openDockerCli } from './cli.ts'
import { compilePlan, keepsEnded } from './compile.ts'
import { openContainers, type Containers } from './containers.ts'
import { openLasting } from './lasting.ts'
import { findDocker, gatherFacts, type Missing } from './facts.ts'
import { readInstallation } from './installation.ts'
import { checkImage, checkRuntime } from './operands.ts'
import { probeDocker } from './probe.ts'

export interface DockerOptions {
  /** Journals, covers and locks; out of every guest's reach. */
  readonly stateDir: HostPath
  readonly searchProgram: HostPath
  readonly docker?: DockerSettings
  /** What docker itself reads of the operator's environment is picked from here. */
  readonly operatorEnv?: Readonly<Record<string, string | undefined>>
}

export interface DockerSettings {
  /** Any image with a POSIX shell. Default: glovebox/sandbox. */
  readonly image?: string | undefined
  /** `runsc` is gVisor. Default: the daemon's own choice. */
  readonly runtime?: string | undefined
}

export const defaultImage = 'glovebox/sandbox:latest'

export async function openBackend(options: DockerOptions): Promise<Backend> {
  const image = checkImage(options.docker?.image ?? defaultImage)
  const runtime = options.docker?.runtime === undefined ? undefined : checkRuntime(options.docker.runtime)
  const found = findDocker()
  if (!('path' in found)) return unavailableBackend(found)
  const spawner = openSpawner()
  const cli = openDockerCli(spawner, found.path, options.operatorEnv ?? {})
  const { stateDir, searchProgram } = options
  const facts = await gatherFacts(cli, found.path, {
    image,
    runtime,
    searchProgram,
    socket: socketIn(options.operatorEnv),
  })
  if ('reason' in facts) {
    spawner.close()
    return unavailableBackend(facts, { cli: found.path })
  }
  const containers = openContainers(cli, { installation: readInstallation(stateDir), keepsEnded: keepsEnded(facts) })
  const live = new Map<SandboxId, Assembled>()
  const destroying = new Map<SandboxId, Promise<void>>()
  // Nothing runs in these any more, and Docker takes longer to clear one away than to start it.
  const clearing = new Map<SandboxId, Promise<void>>()
  const sweeping = sweepLeftovers(stateDir, containers)
  sweeping.catch(() => {})
  const title = `glovebox-keeper-${randomUUID()}`
  let warden: Warden | undefined
  let afterUs: AfterUs | undefined

  const destroy = async (id: SandboxId): Promise<void> => {
    const boundary = live.get(id)
    live.delete(id)
    if (boundary !== undefined) {
      await boundary.end()
      clearing.set(
        id,
        boundary.cleared().finally(() => clearing.delete(id)),
      )
      return
    }
    await clearing.get(id)
    const left = (await containers.list()).filter(({ sandbox }) => sandbox === id)
    await containers.remove(...left.map(({ name }) => name))
  }
  return {
    name: 'docker',
    capabilities: capabilitiesFor(facts),
    probe: () => probeDocker(cli, facts),
    compile: (spec) => compilePlan(spec, facts),
    async create(id, { spec }) {
      if (live.has(id)) throw new GloveboxError('ALREADY_EXISTS', `Cannot create ${id}: it exists`)
      warden ??= startWarden(spawner, { token: title })
      if (keepsEnded(facts)) afterUs ??= endContainersAfterUs(cli, containers.labels(id))
      const boundary = await createBoundary({ id, spec, facts, cli, containers, stateDir, title })
      live.set(id, boundary)
      return boundary
    },
    lasting: openLasting({ facts, cli, containers, stateDir }),
    discover: (id) => Promise.resolve<Boundary | undefined>(live.get(id)),
    async list() {
      // What Docker was still clearing away when it was asked may be gone by the time of its answer.
      const clearingBefore = new Set(clearing.keys())
      const found = [...live.keys(), ...(await containers.list()).map(({ sandbox }) => sandbox)]
      return [...new Set(found)]
        .filter((id) => !clearingBefore.has(id) && !clearing.has(id))
        .map((id) => ({ id, backend: 'docker' }))
    },
    destroy(id) {
      const begun = destroying.get(id) ?? destroy(id).finally(() => destroying.delete(id))
      destroying.set(id, begun)
      return begun
    },
    async close() {
      await sweeping.catch(() => {})
      await Promise.all(clearing.values())
      warden?.dismiss()
      afterUs?.dismiss()
      spawner.close()
    },
  }
}

function socketIn(env: DockerOptions['operatorEnv'] = {}): string | undefined {
  const host = env['DOCKER_HOST']
  if (host === undefined || host === '') return '/var/run/docker.sock'
  return host.startsWith('unix://') ? host.slice('unix://'.length) : undefined
}

/** What a process that was killed has left: its containers first, since what runs in them may hold the rest. */
async function sweepLeftovers(stateDir: string, containers: Containers): Promise<void> {
  const orphans = (await containers.list()).filter(({ orphaned, lasting }) => orphaned && !lasting)
  await containers.remove(...orphans.map(({ name }) => name))
  await sweepPlaceholders(stateDir)
  sweepScratch(scratchRoot(stateDir))
}

function unavailableBackend(
  { reason, fix, version }: Missing,
  details: Readonly<Record<string, string>> = {},
): Backend {
  const refuse = (): never => {
    throw new GloveboxError('BACKEND_UNAVAILABLE', `Cannot use docker: ${reason}`, { hint: fix })
  }
  return {
    name: 'docker',
    capabilities: {},
    probe: () =>
      Promise.resolve({ available: false, reason, fix, details, ...(version === undefined ? {} : { version }) }),
    compile: refuse,
    create: async () => refuse(),
    discover: () => Promise.resolve(undefined),
    list: () => Promise.resolve([]),
    destroy: () => Promise.resolve(),
  }
}

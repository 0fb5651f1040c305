// docker: containers by way of the docker command line, with runc or gVisor as their runtime. For hosts that have a daemon, and for
// commands that need another system than the host's. Promises that a command runs inside the whole boundary or not at all, and
// that nothing but containers of this installation is ever touched. Whoever may speak to the daemon is root on its host: the guest
// never may. Knows nothing of sandboxes' users, of actions or of records.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Backend, Boundary } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { openSpawner } from '../../process/spawn.ts'
import { startWarden, type Warden } from '../../process/warden.ts'
import { endContainersAfterUs, type AfterUs } from './after-us.ts'
import { createBoundary, type Assembled } from './assemble.ts'
import { capabilitiesFor } from './capabilities.ts'
import { openDockerCli, type DockerCli } from './cli.ts'
import { compilePlan, keepsEnded } from './compile.ts'
import { openContainers } from './containers.ts'
import { openEndings } from './ending.ts'
import { findDocker, gatherFacts, type Missing } from './facts.ts'
import { withImage } from './image-of-lasting.ts'
import { factsFor, holdImage, imageGone } from './image.ts'
import { openLasting } from './lasting.ts'
import { sweepLeftovers } from './leftovers.ts'
import { findInstallation, readInstallation } from '../../process/installation.ts'
import { checkImage, checkRuntime } from './operands.ts'
import { probeDocker } from './probe.ts'
import { watchDocker } from './watched.ts'

export interface DockerOptions {
  /** Journals, covers and locks; out of every guest's reach. */
  readonly stateDir: HostPath
  readonly searchProgram: HostPath
  /** Where commands are kept that go on without this process. Default: below `stateDir`. */
  readonly lastingDir?: HostPath | undefined
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
  const name = checkImage(options.docker?.image ?? defaultImage)
  const runtime = options.docker?.runtime === undefined ? undefined : checkRuntime(options.docker.runtime)
  const found = findDocker()
  if (!('path' in found)) return unavailableBackend(found)
  const spawner = openSpawner()
  const docker = watchDocker(openDockerCli(spawner, found.path, options.operatorEnv ?? {}))
  const { cli, circuit } = docker
  const { stateDir, searchProgram } = options
  const facts = await gatherFacts(cli, found.path, {
    image: name,
    runtime,
    searchProgram,
    socket: socketIn(options.operatorEnv),
  })
  if ('reason' in facts) {
    const swept = facts.version === undefined ? Promise.resolve() : sweepOnce(cli, stateDir)
    const closed = swept
      .catch(() => {})
      .finally(() => {
        circuit.close()
        spawner.close()
      })
    return { ...unavailableBackend(facts, { cli: found.path }), close: () => closed }
  }
  const containers = openContainers(cli, { installation: readInstallation(stateDir) })
  const endings = openEndings(containers)
  const image = holdImage(cli, facts)
  const { lastingDir = join(stateDir, 'docker', 'lasting') as HostPath } = options
  const parts = { facts: () => image.facts(), docker, containers, endings, stateDir, place: lastingDir }
  const lasting = withImage(openLasting(parts), image)
  const live = new Map<SandboxId, Assembled>()
  const destroying = new Map<SandboxId, Promise<void>>()
  // Nothing runs in these any more, and Docker takes longer to clear one away than to start it.
  const clearing = new Map<SandboxId, Promise<void>>()
  const sweep = sweepLeftovers({ stateDir, containers })
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
    await containers.removeOf(id)
  }
  return {
    name: 'docker',
    capabilities: capabilitiesFor(facts),
    probe: () => probeDocker(cli, image),
    answers: async () => (await image.isThere()) && docker.answers(),
    isGone: () => image.isGone(),
    ready: () => image.require(),
    compile: (spec) => compilePlan(spec, image.facts()),
    async create(id, plan) {
      if (live.has(id)) throw new GloveboxError('ALREADY_EXISTS', `Cannot create ${id}: it exists`)
      docker.refuseIfAway()
      await image.require()
      warden ??= startWarden(spawner, { token: title })
      if (keepsEnded(facts)) afterUs ??= endContainersAfterUs(cli, containers.labels(id))
      const made = { id, spec: plan.spec, facts: factsFor(plan, image.facts()) }
      const making = createBoundary({ ...made, docker, containers, endings, stateDir, title })
      const boundary = await making.catch((error: unknown) => {
        throw isGloveboxError(error) && image.isWhy(error.operatorDetail ?? '') ? imageGone(facts) : error
      })
      live.set(id, boundary)
      return boundary
    },
    lasting,
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
      await sweep.close()
      await Promise.all(clearing.values())
      warden?.dismiss()
      afterUs?.dismiss()
      endings.close()
      circuit.close()
      spawner.close()
    },
  }
}

function socketIn(env: DockerOptions['operatorEnv'] = {}): string | undefined {
  const host = env['DOCKER_HOST']
  if (host === undefined || host === '') return '/var/run/docker.sock'
  return host.startsWith('unix://') ? host.slice('unix://'.length) : undefined
}

/** A daemon that answers takes away what is left of us, whatever it lacks for more. */
async function sweepOnce(cli: DockerCli, stateDir: string): Promise<void> {
  const installation = findInstallation(stateDir)
  if (installation === undefined) return
  await sweepLeftovers({ stateDir, containers: openContainers(cli, { installation }) }).close()
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
    // What goes on in a container is not gone because nobody can ask for it now.
    lasting: { start: async () => refuse(), find: async () => refuse(), sweep: async () => {} },
    discover: () => Promise.resolve(undefined),
    list: () => Promise.resolve([]),
    destroy: () => Promise.resolve(),
  }
}

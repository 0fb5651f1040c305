// `local`: commands on the bare host, for development. It isolates nothing, says so, and is used only when it is asked
// for by name. It promises the agent the same paths as everywhere else, by exchanging them in commands and output;
// file actions go by descriptor and hold their rules, commands do not. It must not be taken for a boundary.
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { platform } from 'node:process'
import type { Backend, SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import { openSpawner } from '../../process/spawn.ts'
import { openBoundary, type LocalBoundary } from './boundary.ts'
import { capabilitiesFor } from './capabilities.ts'
import { compilePlan } from './compile.ts'
import { probeHost, probeShell, probeTraits } from './probe.ts'
import { createRewriter, type PathPair } from './rewrite.ts'

export interface LocalOptions {
  /** Where locks are kept. Made if it is missing. */
  readonly stateDir: HostPath
  /** Where programs are looked for if a sandbox's environment has no PATH. */
  readonly operatorPath?: string
  /** The program that searches files; by default the one that comes with Glovebox. */
  readonly searchProgram?: HostPath
}

const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export async function openLocalBackend(options: LocalOptions): Promise<Backend> {
  const traits = probeTraits()
  const spawner = openSpawner()
  const live = new Map<SandboxId, LocalBoundary>()
  const lockDir = join(options.stateDir, 'locks') as HostPath
  const searchProgram = options.searchProgram ?? (await import('@vscode/ripgrep')).rgPath

  return {
    name: 'local',
    capabilities: capabilitiesFor(traits),
    probe: async () => probeHost(platform, traits),
    compile: (spec) => compilePlan(spec, traits),
    async create(id, plan) {
      const spec = withCatalog(plan.spec)
      refuseIfTaken(live, id)
      await makeHome(spec)
      const pairs = await resolvePairs(spec)
      await mkdir(lockDir, { recursive: true, mode: 0o700 })
      refuseIfTaken(live, id)
      const boundary = openBoundary({
        id,
        spec,
        rewriter: createRewriter(pairs),
        files: openHostFiles({
          mounts: mountsWithHome(spec),
          protect: spec.policy.protect,
          denyRead: spec.policy.denyRead,
          lockDir,
        }),
        spawner,
        searchProgram,
        shell: probeShell(),
        searchPath: options.operatorPath ?? usualPath,
      })
      live.set(id, boundary)
      return boundary
    },
    discover: async (id) => live.get(id),
    list: async () => [...live.keys()].map((id) => ({ id, backend: 'local' })),
    async destroy(id) {
      await live.get(id)?.close()
      live.delete(id)
    },
    close: async () => spawner.close(),
  }
}

export const openBackend = openLocalBackend

function refuseIfTaken(live: ReadonlyMap<SandboxId, unknown>, id: SandboxId): void {
  if (live.has(id)) throw new GloveboxError('ALREADY_EXISTS', `Cannot create the sandbox ${id}: the id is in use`)
}

/** A mount at the same place covers the home, as it would in a mount namespace. */
function mountsWithHome({ mounts, home }: SandboxSpec): readonly Mount[] {
  const covered = mounts.some(({ guestPath }) => guestPath === home.guestPath)
  return covered ? mounts : [...mounts, { ...home, mode: 'rw' }]
}

async function makeHome({ home }: SandboxSpec): Promise<void> {
  for (const name of ['tmp', '.cache']) await mkdir(join(home.hostPath, name), { recursive: true, mode: 0o700 })
}

/** Programs report directories with their links resolved, so both names of each are hidden. */
async function resolvePairs(spec: SandboxSpec): Promise<readonly PathPair[]> {
  return Promise.all(
    mountsWithHome(spec).map(async ({ guestPath, hostPath, mode }): Promise<PathPair> => {
      const real = await realpath(hostPath).catch((error: Error) => {
        throw new GloveboxError('NOT_FOUND', `Cannot create the sandbox: there is nothing behind ${guestPath}`, {
          hint: 'Make the directory on the host, or leave the mount out.',
          operatorDetail: error.message,
        })
      })
      return { guest: guestPath, hosts: [hostPath, real], reachable: mode !== 'vault' }
    }),
  )
}

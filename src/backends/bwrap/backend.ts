// bubblewrap: namespaces, mounts and a system-call filter from an unprivileged program. The strongest boundary that a Linux
// host has without a daemon or a virtual machine. Promises that a command runs inside the whole boundary or not at all.
// Knows nothing of sandboxes' users, of actions or of records.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Backend, Boundary, SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { loadAsking } from '../../process/asking.ts'
import { sweepScratch } from '../../process/scratch.ts'
import { openSpawner } from '../../process/spawn.ts'
import { startWarden, type Warden } from '../../process/warden.ts'
import { capabilitiesFor, type LimitsFacts } from './capabilities.ts'
import { compilePlan } from './compile.ts'
import { createBoundary, scratchRoot, type Assembled } from './assemble.ts'
import { openFilterFile } from './filter-file.ts'
import { findBwrap, gatherFacts, type Missing } from './facts.ts'
import { programRunner } from './run-program.ts'
import { guestKernelId } from './launcher/kernel-id.ts'
import { hasJournals } from '../../guards/journal.ts'
import { openDirectLauncher, type Launcher } from './launcher/launcher.ts'
import { tryLayers } from './layers.ts'
import { detectLimits, readLimitsHost } from './limits/limits.ts'
import { sweepLimitGroups } from './limits/sweep.ts'
import { sweepPlaceholders } from '../../guards/placeholders.ts'
import { probeBwrap } from './probe.ts'
import { compileFilter } from './seccomp/filter.ts'

export interface BwrapOptions {
  /** Journals, covers and locks; out of every guest's reach. */
  readonly stateDir: HostPath
  readonly searchProgram: HostPath
  /** The process does nothing else but serve this backend, so its main thread may leave the host's mounts. */
  readonly ownsProcess?: boolean
}

export async function openBackend(options: BwrapOptions): Promise<Backend> {
  const found = findBwrap()
  if (!('path' in found)) return unavailableBackend(found)
  const spawner = openSpawner()
  const run = programRunner(spawner)
  const startedByRoot = process.getuid?.() === 0
  // The thread takes longer to start than everything else here; it is awaited only where it is needed.
  const launcher = openLauncher(found.path, { startedByRoot, ownsProcess: options.ownsProcess === true })
  launcher.catch(() => {})
  const closeBoth = async (): Promise<void> => {
    await launcher.then(
      (opened) => opened.close(),
      () => {},
    )
    spawner.close()
  }
  const look = async () => {
    const facts = await gatherFacts(spawner, { ...options, bwrapPath: found.path })
    const limitsPlan = detectLimits(readLimitsHost())
    const limits: LimitsFacts = {
      enforces: limitsPlan.enforces,
      by: limitsPlan.mechanism === 'none' ? (limitsPlan.missing[0]?.why ?? 'no control groups') : limitsPlan.by,
    }
    const filter = compileFilter({ arch: facts.architecture, pty: false })
    // A process that is all ours runs one command and ends: it would never use a cell again.
    const asking = options.ownsProcess === true || !listsChildren() ? undefined : loadAsking()
    return { facts, limitsPlan, limits, filter, asking }
  }
  const { facts, limitsPlan, limits, filter, asking } = await look().catch(async (error: unknown) => {
    await closeBoth()
    throw error
  })
  const live = new Map<SandboxId, Assembled>()
  const destroying = new Map<SandboxId, Promise<void>>()
  const sweeping = sweepLeftovers(options.stateDir)
  sweeping.catch(() => {})
  const title = `glovebox-gate-${randomUUID()}`
  const filterFile = openFilterFile(filter.bytes, scratchRoot(options.stateDir))
  let warden: Warden | undefined
  const guardOnce = (opened: Launcher): void => {
    const ids = startedByRoot ? { uid: guestKernelId, gid: guestKernelId } : {}
    warden ??= opened.guard?.(title) ?? startWarden(spawner, { token: title, ...ids })
  }

  const destroy = async (id: SandboxId): Promise<void> => {
    const boundary = live.get(id)
    live.delete(id)
    // One of another process: its processes ended with that, and what it left of the rest is swept.
    if (boundary === undefined) await sweepLeftovers(options.stateDir)
    else await boundary.end()
  }
  return {
    name: 'bwrap',
    capabilities: capabilitiesFor(facts, limits),
    probe: () => probeBwrap({ facts, limitsPlan, launcher }),
    compile: (spec: SandboxSpec) => compilePlan(spec, facts, limits, filter),
    createsAtRest: true,
    async create(id, plan) {
      if (live.has(id)) throw new GloveboxError('ALREADY_EXISTS', `Cannot create ${id}: it exists`)
      await sweeping
      const opened = await launcher
      const making = createBoundary({
        id,
        spec: plan.spec,
        facts,
        limitsPlan,
        launcher: opened,
        stateDir: options.stateDir,
        filterDescriptor: () => filterFile.descriptor(),
        run,
        title,
        asking,
      })
      // Started while the boundary waits for the disk; nothing runs in it before this returns.
      try {
        guardOnce(opened)
      } catch (error) {
        await making.then((made) => made.end())
        throw error
      }
      const boundary = await making
      live.set(id, boundary)
      return boundary
    },
    tryLayers: async (mount) => tryLayers(mount, await launcher),
    discover: (id) => Promise.resolve<Boundary | undefined>(live.get(id)),
    list: () => Promise.resolve([...live.keys()].map((id) => ({ id, backend: 'bwrap' }))),
    destroy(id) {
      const begun = destroying.get(id) ?? destroy(id).finally(() => destroying.delete(id))
      destroying.set(id, begun)
      return begun
    },
    async close() {
      await sweeping.catch(() => {})
      warden?.dismiss()
      filterFile.close()
      await closeBoth()
    },
  }
}

/** What a process that was killed has left: its resource groups first, since what runs in them may hold the rest. */
async function sweepLeftovers(stateDir: string): Promise<void> {
  // Nothing was journalled, so nothing is left; a look is cheaper than the locks of a sweep.
  if (hasJournals(stateDir)) {
    await sweepLimitGroups(stateDir)
    await sweepPlaceholders(stateDir)
  }
  sweepScratch(scratchRoot(stateDir))
}

/** Not every kernel is built to tell a process's children. */
const listsChildren = (): boolean => existsSync('/proc/thread-self/children')

interface Starter {
  readonly startedByRoot: boolean
  readonly ownsProcess: boolean
}

async function openLauncher(bwrapPath: string, { startedByRoot, ownsProcess }: Starter): Promise<Launcher> {
  if (!startedByRoot) return openDirectLauncher()
  if (ownsProcess) return (await import('./launcher/owned-launcher.ts')).openOwnedLauncher(bwrapPath)
  return (await import('./launcher/root-launcher.ts')).openRootLauncher(bwrapPath)
}

function unavailableBackend({ reason, fix }: Missing): Backend {
  const refuse = (): never => {
    throw new GloveboxError('BACKEND_UNAVAILABLE', `Cannot use bwrap: ${reason}`, { hint: fix })
  }
  return {
    name: 'bwrap',
    capabilities: {},
    probe: () => Promise.resolve({ available: false, reason, fix }),
    compile: refuse,
    create: async () => refuse(),
    discover: () => Promise.resolve(undefined),
    list: () => Promise.resolve([]),
    destroy: () => Promise.resolve(),
  }
}

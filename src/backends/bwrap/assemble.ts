// Puts a boundary together, piece by piece, and takes it apart again in the opposite order, also when a piece is refused.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as othersFirst } from 'node:timers/promises'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import type { Asking } from '../../process/asking.ts'
import { closeScratch, openScratch } from '../../process/scratch.ts'
import { liveBoundary, type LiveBoundary } from './boundary.ts'
import type { HostFacts } from './facts.ts'
import type { Launcher } from './launcher/launcher.ts'
import { openLayers } from './layers.ts'
import {
  createLimitGroup,
  limitDirectories,
  limitGroupName,
  type LimitGroup,
  type LimitsPlan,
  type RunProgram,
} from './limits/limits.ts'
import { forgetLimitGroup, recordLimitGroup } from './limits/sweep.ts'
import { openMasks, vaultNames } from '../../guards/masks.ts'
import { openProtection } from '../../guards/protection.ts'
import { openSources } from './sources.ts'

export interface AssemblyParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly facts: HostFacts
  readonly limitsPlan: LimitsPlan
  readonly launcher: Launcher
  readonly stateDir: HostPath
  /** A descriptor of the system-call filter's bytes. Stays the backend's. */
  readonly filterDescriptor: () => number
  readonly title: string
  /** Absent: no cell can be told from a new one, so none is used twice. */
  readonly asking: Asking | undefined
  /** For a systemd scope, which is made by a program. */
  readonly run: RunProgram
}

export interface Assembled extends LiveBoundary {
  end(): Promise<void>
}

export const scratchRoot = (stateDir: string): string => join(stateDir, 'bwrap')

type Undo = () => void | Promise<void>

export async function createBoundary(parts: AssemblyParts): Promise<Assembled> {
  const { id, facts, launcher, stateDir } = parts
  const undo: Undo[] = []
  const takeApart = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step()
  }
  try {
    const scratch = openScratch(scratchRoot(stateDir), id)
    undo.push(() => closeScratch(scratch))

    const layers = await openLayers(withCatalog(parts.spec), launcher)
    undo.push(() => layers.release())
    // All of it together takes milliseconds. In a server others are answered in between.
    await othersFirst()
    const { spec } = layers
    const homeMount: Mount = { ...spec.home, mode: 'rw' }
    const files = openHostFiles({
      mounts: [...spec.mounts, homeMount],
      protect: spec.policy.protect,
      denyRead: spec.policy.denyRead,
      lockDir: join(stateDir, 'locks') as HostPath,
      namesArePinned: true,
    })
    undo.push(() => files.close())
    await othersFirst()

    // Each waits for the disk or for another process. Names and group are journalled in one turn of a lock, or, where the group's place
    // is not known yet, in one after the other: the second would only be in the first one's way.
    const groupPlace = limitDirectories(parts.limitsPlan, limitGroupName(id))
    const protecting = openProtection({ id, stateDir, spec, files, limitGroup: groupPlace, onDisk: layers.onDisk })
    // Taken apart in this order, too: a group that is gone when the names are lifted needs no journal any more, and a name that is
    // held in what was staged cannot be removed.
    const [limitGroup, sources, protection] = await allOrUndo(
      undo,
      [protecting.then(() => openLimitGroup(parts, groupPlace)), (group) => closeLimitGroup(parts, group)],
      [
        othersFirst().then(() =>
          openSources({ spec, behind: vaultsShown(spec, scratch), facts, files, launcher, staged: layers.staged }),
        ),
        (opened) => opened.release(),
      ],
      [protecting, (laid) => laid.lift()],
    )

    const masks = await openMasks(spec, scratch, sources.further)

    const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
    const boundary = liveBoundary({
      id,
      spec,
      facts,
      files,
      launcher,
      sources,
      limitGroup,
      filterDescriptor: parts.filterDescriptor(),
      masks,
      shell,
      title: parts.title,
      asking: parts.asking,
      guards: () => protection.guards(sources.pathOf),
    })
    return {
      ...boundary,
      async end() {
        await boundary.endAll()
        await takeApart()
      },
    }
  } catch (error) {
    // The first fault is what the caller must know; what could not be taken away is swept at the next start.
    await takeApart().catch(() => {})
    throw error
  }
}

type Step<T> = readonly [Promise<T>, (value: T) => void | Promise<void>]

/** Waits for all, also when one is refused, so that what the others made is known and can be taken away: in this order, whichever was
 * made first. */
async function allOrUndo<A, B, C>(undo: Undo[], a: Step<A>, b: Step<B>, c: Step<C>): Promise<readonly [A, B, C]> {
  const made: (Undo | undefined)[] = [undefined, undefined, undefined]
  undo.push(async () => {
    const undone = await Promise.allSettled(made.map(async (unmake) => unmake?.()))
    const failed = undone.find((each) => each.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  })
  const watch = async <T>([making, unmake]: Step<T>, index: number): Promise<void> => {
    const value = await making
    made[index] = () => unmake(value)
  }
  const settled = await Promise.allSettled([watch(a, 0), watch(b, 1), watch(c, 2)])
  const refused = settled.find((each) => each.status === 'rejected')
  if (refused !== undefined) throw refused.reason
  return Promise.all([a[0], b[0], c[0]])
}

async function closeLimitGroup({ id, stateDir }: AssemblyParts, group: LimitGroup | undefined): Promise<void> {
  await group?.destroy()
  if (group !== undefined) await forgetLimitGroup({ sandboxId: id, stateDir })
}

/** What bwrap binds in a vault's place. The file actions reach the vault itself, and refuse all but its names. */
function vaultsShown(spec: SandboxSpec, scratch: string): ReadonlyMap<Mount, string> {
  const vaults = spec.mounts.filter((mount) => mount.mode === 'vault')
  return new Map(vaults.map((mount, index) => [mount, vaultNames(mount, scratch, index)]))
}

/** `recorded`: the directories that the journal names already. */
async function openLimitGroup(
  { id, spec, limitsPlan, stateDir, run }: AssemblyParts,
  recorded: readonly string[] | undefined,
): Promise<LimitGroup | undefined> {
  if (limitsPlan.enforces.length === 0) return undefined
  const { memoryMb, cpuCores, pids } = spec.policy
  return createLimitGroup(
    limitsPlan,
    limitGroupName(id),
    { memoryBytes: memoryMb * 1024 * 1024, cpuCores, pids },
    {
      run,
      async beforeMaking(directories) {
        if (!directories.every((directory) => recorded?.includes(directory)))
          await recordLimitGroup({ sandboxId: id, stateDir, directories })
      },
    },
  )
}

// Puts a boundary together, piece by piece, and takes it apart again in the opposite order, also when a piece is refused.
import { closeSync, existsSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import { closeScratch, openScratch } from '../../process/scratch.ts'
import { liveBoundary, type LiveBoundary } from './boundary.ts'
import type { HostFacts } from './facts.ts'
import type { Launcher } from './launcher/launcher.ts'
import { createLimitGroup, limitGroupName, type LimitGroup, type LimitsPlan, type RunProgram } from './limits/limits.ts'
import { forgetLimitGroup, recordLimitGroup } from './limits/sweep.ts'
import { openMasks, vaultNames } from './masks.ts'
import { openProtection } from './protection.ts'
import { compileFilter } from './seccomp/filter.ts'
import { openSources } from './sources.ts'

export interface AssemblyParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly facts: HostFacts
  readonly limitsPlan: LimitsPlan
  readonly launcher: Launcher
  readonly stateDir: HostPath
  readonly title: string
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
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const scratch = openScratch(scratchRoot(stateDir), id)
    undo.push(() => closeScratch(scratch))

    const { spec } = parts
    const homeMount: Mount = { ...spec.home, mode: 'rw' }
    const files = openHostFiles({
      mounts: [...spec.mounts, homeMount],
      protect: spec.policy.protect,
      denyRead: spec.policy.denyRead,
      lockDir: join(stateDir, 'locks') as HostPath,
    })
    undo.push(() => files.close())

    const limitGroup = await openLimitGroup(parts)
    if (limitGroup !== undefined) {
      undo.push(() => forgetLimitGroup({ sandboxId: id, stateDir }))
      undo.push(() => limitGroup.destroy())
    }

    const sources = await openSources({ spec, behind: vaultsShown(spec, scratch), facts, files, launcher })
    undo.push(() => sources.release())

    const protection = await openProtection({ id, stateDir, spec, files, pathOf: sources.pathOf })
    undo.push(() => protection.lift())

    const masks = await openMasks(spec, scratch, sources.further)
    const filterDescriptor = openFilter(facts, scratch)
    undo.push(() => closeSync(filterDescriptor))

    const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
    const boundary = liveBoundary({
      id,
      spec,
      facts,
      files,
      launcher,
      sources,
      limitGroup,
      filterDescriptor,
      masks,
      shell,
      title: parts.title,
      guards: () => protection.guards(),
    })
    return {
      ...boundary,
      async end() {
        await boundary.endAll()
        await takeApart()
      },
    }
  } catch (error) {
    await takeApart()
    throw error
  }
}

/** What bwrap binds in a vault's place. The file actions reach the vault itself, and refuse all but its names. */
function vaultsShown(spec: SandboxSpec, scratch: string): ReadonlyMap<Mount, string> {
  const vaults = spec.mounts.filter((mount) => mount.mode === 'vault')
  return new Map(vaults.map((mount, index) => [mount, vaultNames(mount, scratch, index)]))
}

async function openLimitGroup({ id, spec, limitsPlan, stateDir, run }: AssemblyParts): Promise<LimitGroup | undefined> {
  if (limitsPlan.enforces.length === 0) return undefined
  const { memoryMb, cpuCores, pids } = spec.policy
  return createLimitGroup(
    limitsPlan,
    limitGroupName(id),
    { memoryBytes: memoryMb * 1024 * 1024, cpuCores, pids },
    { run, beforeMaking: (directories) => recordLimitGroup({ sandboxId: id, stateDir, directories }) },
  )
}

/** The filter's bytes under a descriptor and no name. */
function openFilter(facts: HostFacts, scratch: string): number {
  const path = join(scratch, 'filter')
  writeFileSync(path, compileFilter({ arch: facts.architecture, pty: false }).bytes, { mode: 0o600 })
  const descriptor = openSync(path, 'r')
  unlinkSync(path)
  return descriptor
}

// Puts a boundary together, piece by piece, and takes it apart again in the opposite order, also when a piece is refused.
import { join } from 'node:path'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import { closeScratch, openScratch } from '../../process/scratch.ts'
import { openProtection } from '../../guards/protection.ts'
import { liveBoundary, type LiveBoundary } from './boundary.ts'
import { openCell, type Cell } from './cell.ts'
import type { DockerCli } from './cli.ts'
import { runArguments } from './compile.ts'
import type { Containers } from './containers.ts'
import { firstLine, type DockerFacts } from './facts.ts'
import { chooseGuest } from './guest.ts'
import { checkBounds } from './inodes.ts'
import { besideCommand } from './keeper.ts'
import { openLayout, type Laid } from './layout.ts'

export interface AssemblyParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly facts: DockerFacts
  readonly cli: DockerCli
  readonly containers: Containers
  readonly stateDir: HostPath
  /** The name of every keeper of this process: the warden's token. */
  readonly title: string
}

export interface Assembled extends LiveBoundary {
  end(): Promise<void>
}

export const scratchRoot = (stateDir: string): string => join(stateDir, 'docker', 'scratch')

export async function createBoundary(parts: AssemblyParts): Promise<Assembled> {
  const { id, spec, facts, stateDir } = parts
  const undo: (() => void | Promise<void>)[] = []
  const takeApart = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step()
  }
  try {
    const guest = chooseGuest(spec, { operator: facts.operator, stateDir })
    const scratch = openScratch(scratchRoot(stateDir), id)
    undo.push(() => closeScratch(scratch))
    const homeMount: Mount = { ...spec.home, mode: 'rw' }
    const files = openHostFiles({
      mounts: [...spec.mounts, homeMount],
      protect: spec.policy.protect,
      denyRead: spec.policy.denyRead,
      lockDir: join(stateDir, 'locks') as HostPath,
      namesArePinned: true,
    })
    undo.push(() => files.close())
    const protection = await openProtection({ id, stateDir, spec, files, onDisk: () => undefined })
    undo.push(() => protection.lift())
    const layOut = await openLayout({ spec, protection, files, scratch, readOnlyIsDeep: facts.readOnlyIsDeep })
    const boundary = liveBoundary({ id, spec, files, layOut, createCell: cellMaker(parts, guest) })
    undo.push(() => boundary.endAll())
    await boundary.prepare()
    return {
      ...boundary,
      async end() {
        await takeApart()
        await boundary.cleared()
      },
    }
  } catch (error) {
    await takeApart()
    throw error
  }
}

function cellMaker(
  { id, spec, facts, cli, containers, title }: AssemblyParts,
  guest: { readonly uid: number; readonly gid: number },
): (laid: Laid) => Promise<Cell> {
  let made = 0
  return async ({ bounds, inodes, key }) => {
    made += 1
    const name = `glovebox-${id}-${made}`
    const args = runArguments(spec, facts, {
      name,
      labels: containers.labels(id),
      guest,
      bounds,
      title: `${title}-${name}`,
    })
    try {
      const cell = await openCell({
        name,
        key,
        child: cli.start(args),
        env: spec.env,
        containers,
        startBeside: () => cli.start(['exec', '--interactive', '--', name, ...besideCommand]),
      })
      if (facts.showsInodes) await checkBounds(cell, inodes)
      return cell
    } catch (error) {
      throw cannotStart(error)
    }
  }
}

const cannotStart = (error: unknown): GloveboxError => {
  const said = error instanceof Error ? error.message : String(error)
  return new GloveboxError('BOUNDARY_FAILED', 'Cannot make the sandbox: docker could not start its container', {
    hint: 'Nothing has run. `glovebox doctor` tells what is wrong with the backend.',
    operatorDetail: firstLine(said.replace(/^docker: /, '')),
  })
}

// Puts a boundary together, piece by piece, and takes it apart again in the opposite order, also when a piece is refused.
import { join } from 'node:path'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import { closeScratch, openScratch } from '../../process/scratch.ts'
import { openProtection } from '../../guards/protection.ts'
import { liveBoundary, type LiveBoundary } from './boundary.ts'
import { openCell, type Cell } from './cell.ts'
import type { CellTraits } from './cells.ts'
import type { DockerCli } from './cli.ts'
import { groupArguments, runArguments } from './compile.ts'
import type { Containers } from './containers.ts'
import { firstLine, type DockerFacts } from './facts.ts'
import { chooseGuest } from './guest.ts'
import { checkBounds } from './inodes.ts'
import { besideCommand, terminalCommand } from './keeper.ts'
import { openLayout, type Laid } from './layout.ts'
import { openMeters } from './meters.ts'

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
  /** Settles when nothing of it runs or is in anybody's way. Docker may still be clearing its containers away. */
  end(): Promise<void>
}

export const scratchRoot = (stateDir: string): string => join(stateDir, 'docker', 'scratch')

export async function createBoundary(parts: AssemblyParts): Promise<Assembled> {
  const { id, facts, stateDir } = parts
  const spec = withCatalog(parts.spec)
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
    const { containers } = parts
    const boundary = liveBoundary({
      id,
      spec,
      files,
      layOut,
      createCell: cellMaker(parts, guest),
      meters: openMeters({ find: (name) => containers.find(name), isGvisor: facts.isGvisor }),
      // gVisor takes its limits when it starts.
      ...(facts.isGvisor ? {} : { limit: (names, limits) => containers.limit(names, groupArguments(limits, facts)) }),
    })
    undo.push(() => boundary.endAll())
    await boundary.begin()
    return {
      ...boundary,
      end: takeApart,
    }
  } catch (error) {
    // The first fault is what the caller must know; what could not be taken away is swept at the next start.
    await takeApart().catch(() => {})
    throw error
  }
}

function cellMaker(
  { id, facts, cli, containers, title }: AssemblyParts,
  guest: { readonly uid: number; readonly gid: number },
): (laid: Laid, spec: SandboxSpec, traits: CellTraits) => Promise<Cell> {
  let made = 0
  return async ({ bounds, inodes, key }, spec, traits) => {
    made += 1
    const name = `glovebox-${id}-${made}`
    const args = runArguments(spec, facts, {
      name,
      labels: containers.labels(id),
      guest,
      bounds,
      title: `${title}-${name}`,
      ...traits,
    })
    try {
      const cell = await openCell({
        name,
        key,
        child: cli.start(args),
        env: spec.env,
        containers,
        startBeside: () => cli.start(['exec', '--interactive', '--', name, ...besideCommand]),
        startOnTerminal: (size, terminal) =>
          cli.start(['exec', '--interactive', '--tty', noDetaching, '--', name, ...terminalCommand(size)], terminal),
      })
      if (facts.showsInodes) await checkBounds(cell, inodes)
      return cell
    } catch (error) {
      throw cannotStart(error)
    }
  }
}

/** Docker leaves a command alone when its user types this, and waits at each letter of it for the next: so it is one that nobody
 * types. It cannot be left out. */
const noDetaching = `--detach-keys=${Array.from({ length: 16 }, () => 'ctrl-@').join(',')}`

const cannotStart = (error: unknown): GloveboxError => {
  const said = error instanceof Error ? error.message : String(error)
  return new GloveboxError('BOUNDARY_FAILED', 'Cannot make the sandbox: docker could not start its container', {
    hint: 'Nothing has run. `glovebox doctor` tells what is wrong with the backend.',
    operatorDetail: firstLine(said.replace(/^docker: /, '')),
  })
}

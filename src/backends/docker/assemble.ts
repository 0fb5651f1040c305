// Puts a boundary together, piece by piece, and takes it apart again in the opposite order, also when a piece is refused.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import { closeAll } from '../../process/close-all.ts'
import { closeScratch, openScratch } from '../../process/scratch.ts'
import { openProtection } from '../../guards/protection.ts'
import { liveBoundary, type LiveBoundary } from './boundary.ts'
import { openCell, type Cell } from './cell.ts'
import { openCellEnd } from './cell-end.ts'
import type { CellTraits } from './cells.ts'
import { groupArguments, keepsEnded, runArguments, type Guest } from './compile.ts'
import type { Containers } from './containers.ts'
import type { Endings } from './ending.ts'
import { firstLine, type DockerFacts } from './facts.ts'
import { chooseGuest } from './guest.ts'
import { openIdFile } from './id-file.ts'
import { besideCommand, terminalCommand } from './keeper.ts'
import { anyKillSince, killsOnHost } from './late-memory.ts'
import { openLayout, type Laid } from './layout.ts'
import { openMeters } from './meters.ts'
import { keeperSight } from './sight.ts'
import type { WatchedDocker } from './watched.ts'

export interface AssemblyParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly facts: DockerFacts
  readonly docker: WatchedDocker
  readonly containers: Containers
  readonly endings: Endings
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
  const undo: (() => Promise<void>)[] = []
  let endAll = async (): Promise<void> => {}
  const takeApart = async (): Promise<void> => {
    // What guards a command stays as long as one may run.
    await endAll()
    await closeAll(undo.splice(0).toReversed())
  }
  try {
    const guest = chooseGuest(spec, { operator: facts.operator, stateDir })
    const scratch = openScratch(scratchRoot(stateDir), id)
    undo.push(async () => closeScratch(scratch))
    const homeMount: Mount = { ...spec.home, mode: 'rw' }
    const files = openHostFiles({
      mounts: [...spec.mounts, homeMount],
      protect: spec.policy.protect,
      denyRead: spec.policy.denyRead,
      lockDir: join(stateDir, 'locks') as HostPath,
      namesArePinned: true,
    })
    undo.push(async () => files.close())
    const protection = await openProtection({ id, stateDir, spec, files, onDisk: () => undefined })
    undo.push(() => protection.lift())
    const layOut = await openLayout({ spec, protection, files, scratch, readOnlyIsDeep: facts.readOnlyIsDeep })
    const { containers } = parts
    const boundary = liveBoundary({
      id,
      spec,
      files,
      layOut,
      createCell: cellMaker(parts, { guest, scratch }),
      refuseIfAway: () => parts.docker.refuseIfAway(),
      meters: openMeters({ find: (name) => containers.find(name), isGvisor: facts.isGvisor }),
      // gVisor takes its limits when it starts.
      ...(facts.isGvisor ? {} : { limit: (names, limits) => containers.limit(names, groupArguments(limits, facts)) }),
    })
    endAll = () => boundary.endAll()
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
  { id, facts, docker, containers, endings, title }: AssemblyParts,
  { guest, scratch }: { readonly guest: Guest; readonly scratch: string },
): (laid: Laid, spec: SandboxSpec, traits: CellTraits) => Promise<Cell> {
  const { cli, circuit } = docker
  return async ({ bounds, inodes, key }, spec, traits) => {
    docker.refuseIfAway()
    // By chance and not by number: a sandbox may be made anew under its id while one of the same number is still being ended.
    const name = `glovebox-${id}-${randomBytes(6).toString('hex')}`
    const idFile = openIdFile(join(scratch, `id-${name}`))
    const labels = containers.labels(id)
    const args = runArguments(spec, facts, { name, idFile: idFile.path, labels, guest, bounds, title, ...traits })
    const mayBeOfMemory = anyKillSince(facts.isHere ? killsOnHost() : undefined)
    try {
      const child = cli.start(args)
      const cell = await openCell({
        name,
        key,
        child,
        env: spec.env,
        sight: facts.showsInodes ? keeperSight(inodes) : [],
        containers,
        cellEnd: openCellEnd({ name, child, docker, endings, id: () => idFile.id(), keepsEnded: keepsEnded(facts) }),
        unlessAway: (begin) => circuit.unlessAway(begin),
        mayBeOfMemory,
        // With runc the keeper lives on and counts itself.
        ...(facts.isGvisor ? { untilWatched: (gone) => containers.untilWatched(name, gone) } : {}),
        startBeside: () => cli.start(['exec', '--interactive', '--', name, ...besideCommand]),
        startOnTerminal: (size, terminal) =>
          cli.start(['exec', '--interactive', '--tty', noDetaching, '--', name, ...terminalCommand(size)], terminal),
      })
      idFile.close()
      return cell
    } catch (error) {
      // It may still have to be ended when the directory is gone, with the sandbox that was to be made.
      idFile.id()
      throw cannotStart(error)
    }
  }
}

/** Docker leaves a command alone when its user types this, and waits at each letter of it for the next: so it is one that nobody
 * types. It cannot be left out. */
const noDetaching = `--detach-keys=${Array.from({ length: 16 }, () => 'ctrl-@').join(',')}`

const cannotStart = (error: unknown): GloveboxError => {
  if (error instanceof GloveboxError) return error
  const said = error instanceof Error ? error.message : String(error)
  return new GloveboxError('BOUNDARY_FAILED', 'Cannot make the sandbox: docker could not start its container', {
    hint: 'Nothing has run. `glovebox doctor` tells what is wrong with the backend.',
    operatorDetail: firstLine(said.replace(/^docker: /, '')),
  })
}

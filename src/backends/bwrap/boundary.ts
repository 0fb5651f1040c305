// A live boundary. A command runs in a cell that it shares with nobody (cells.ts), or in a bwrap of its own where it needs one:
// for its input, for its length, or because the host has no means to tell a used cell from a new one.
import type { Boundary, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Guard, Mask } from '../../guards/rule.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import type { CountUnread } from '../../process/pipes.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import { planAdmission } from './admit.ts'
import { boundaryArguments, environmentArguments, guestSearchProgram } from './compile.ts'
import type { HostFacts } from './facts.ts'
import { openCell, type Cell } from './cell.ts'
import { openCells, type Laid } from './cells.ts'
import { cellGateScript, descriptors } from './gate.ts'
import { canBeKept, keeperArguments, keeperCommand, lineFor } from './keeper.ts'
import type { Launcher } from './launcher/launcher.ts'
import type { LimitGroup } from './limits/limits.ts'
import { singleCommand, type Gatekeeping } from './process.ts'
import { firstFree, startBwrap, type Start } from './start.ts'
import type { Sources } from './sources.ts'

/** Writable, and not a mount's: what a command leaves here must not be there for the next one. */
const privatePlaces = ['/tmp', '/dev/shm', '/dev/mqueue'] as const

export interface BoundaryParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly facts: HostFacts
  readonly files: HostFiles
  readonly launcher: Launcher
  readonly sources: Sources
  readonly limitGroup: LimitGroup | undefined
  /** A descriptor of the filter's bytes; opened again for each command, since reading moves its position. */
  readonly filterDescriptor: number
  readonly masks: readonly Mask[]
  readonly shell: string
  /** The name of every gate of this process: the warden's token. */
  readonly title: string
  /** Absent: every command gets a bwrap of its own. */
  readonly countUnread: CountUnread | undefined
  /** Looked at before every command. */
  guards(): Promise<readonly Guard[]>
}

export interface LiveBoundary extends Boundary {
  /** Ends every command and settles when all are gone. */
  endAll(): Promise<void>
}

export function liveBoundary(parts: BoundaryParts): LiveBoundary {
  const { spec, facts, sources } = parts
  const running = new Set<Process>()
  const admission = planAdmission(parts.limitGroup, descriptors.first + sources.descriptors.length)
  let laid: (Laid & { readonly guards: readonly Guard[] }) | undefined
  let memoryKills = 0
  const starting = new Set<Promise<Process>>()
  let ending = false
  const refuseIfEnding = (): void => {
    if (ending) throw new GloveboxError('SANDBOX_GONE', 'Cannot run the command: the sandbox has been killed')
  }

  const layOut = async (): Promise<Laid> => {
    const guards = await parts.guards()
    if (laid?.guards !== guards) {
      const mounts = spec.mounts.map((mount) => ({ mount, source: sources.of(mount) }))
      laid = {
        guards,
        words: boundaryArguments(spec, facts, { ...sources, mounts, guards, masks: parts.masks }),
        mountPoints: [spec.home, ...spec.mounts, ...guards, ...parts.masks].map(({ guestPath }) => guestPath),
      }
    }
    return laid
  }
  const keeping: Gatekeeping = {
    admit: (pid) => admission.admit(pid),
    async tookMemory() {
      const before = memoryKills
      memoryKills = (await parts.limitGroup?.oomKills()) ?? 0
      return memoryKills > before
    },
  }

  const launch = (start: Start): Promise<SpawnedChild> => {
    refuseIfEnding()
    return startBwrap({ ...parts, admission }, start)
  }
  const createCell = async ({ words }: Laid): Promise<Cell> => {
    const keeper = keeperArguments(firstFree({ ...parts, admission }))
    const child = await launch({
      words: [...keeper, ...words, ...environmentArguments(spec.env), '--chdir', '/'],
      stdin: 'report',
      script: cellGateScript,
      names: [],
      command: keeperCommand(parts.title, Object.keys(spec.env)),
      reads: ['/bin/sh'],
    })
    return openCell(child, {
      ...keeping,
      countUnread: parts.countUnread as CountUnread,
      privatePlaces,
      ownNetwork: spec.policy.network.mode !== 'full',
    })
  }
  const cells = openCells(createCell)

  const startAlone = async (request: SpawnRequest, { words }: Laid): Promise<Process> => {
    const env = { ...spec.env, ...request.env }
    const child = await launch({
      words: [...words, ...environmentArguments(env), '--chdir', request.cwd],
      stdin: request.stdin,
      names: Object.keys(env),
      command: request.argv,
    })
    return singleCommand(child, keeping)
  }
  const start = async (request: SpawnRequest): Promise<Process> => {
    refuseIfEnding()
    const now = await layOut()
    const keepable = parts.countUnread !== undefined && canBeKept({ ...spec.env, ...request.env })
    const line = keepable ? lineFor(request) : undefined
    refuseIfEnding()
    const process = line === undefined ? await startAlone(request, now) : await cells.run(line, now)
    running.add(process)
    void process.exit.then(() => running.delete(process))
    return process
  }

  return {
    id: parts.id,
    files: parts.files,
    searchProgram: guestSearchProgram,
    shell: parts.shell,
    spawn(request) {
      const started = start(request)
      starting.add(started)
      const forget = (): void => void starting.delete(started)
      started.then(forget, forget)
      return started
    },
    async endAll() {
      // A command that is just being started must not slip in behind the end, when its descriptors are somebody else's.
      ending = true
      await Promise.allSettled(starting)
      const all = [...running]
      for (const process of all) process.kill()
      await Promise.all([...all.map((process) => process.exit), cells.endAll()])
    },
  }
}

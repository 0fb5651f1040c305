// A live boundary. A command runs in a cell that it shares with nobody (cells.ts), or in a bwrap of its own where it needs one:
// for its input, for its length, or because the host has no means to tell a used cell from a new one.
import { closeSync, openSync } from 'node:fs'
import type { Boundary, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import type { CountUnread } from '../../process/pipes.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import type { StandardInput } from '../../process/wiring.ts'
import { planAdmission } from './admit.ts'
import {
  boundaryArguments,
  environmentArguments,
  gateLimits,
  guestSearchProgram,
  type Guard,
  type Mask,
} from './compile.ts'
import type { HostFacts } from './facts.ts'
import { openCell, type Cell } from './cell.ts'
import { openCells, type Laid } from './cells.ts'
import { cellGateScript, gateCommand, descriptors } from './gate.ts'
import { canBeKept, keeperArguments, keeperCommand, lineFor } from './keeper.ts'
import type { Launcher } from './launcher/launcher.ts'
import type { LimitGroup } from './limits/limits.ts'
import { singleCommand, type Gatekeeping } from './process.ts'
import type { Sources } from './sources.ts'

// bwrap itself refuses more than 9000 words; told here, before anything starts.
const mostArguments = 8500

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

  interface Start {
    readonly words: readonly string[]
    readonly stdin: StandardInput
    readonly script?: string
    readonly names: readonly string[]
    readonly command: readonly string[]
    /** Opened anew for each, since reading moves the position; closed here. */
    readonly further?: readonly number[]
  }
  const launch = ({ words, stdin, script, names, command, further = [] }: Start): Promise<SpawnedChild> => {
    if (words.length > mostArguments) throw tooMany()
    refuseIfEnding()
    const filter = openSync(`/proc/self/fd/${parts.filterDescriptor}`, 'r')
    const gate = { ...gateLimits(spec, facts), entries: admission.entries, names, title: parts.title }
    return parts.launcher
      .launch({
        file: facts.bwrapPath,
        args: [
          '--args',
          String(descriptors.arguments),
          '--',
          ...gateCommand(script === undefined ? gate : { ...gate, script }),
          ...command,
        ],
        stdin,
        extraDescriptors: [
          // Not on the command line, where anyone could read the environment.
          { holds: Buffer.from(words.map((word) => `${word}\0`).join('')) },
          filter,
          // SECURITY: bwrap's child waits for a sign from bwrap that comes after this report; were bwrap to end by SIGPIPE,
          // because the host was killed, it would wait for ever.
          // test/attacks/processes: "a host that is killed as a command starts leaves nothing running"
          'reportFromChild',
          'toChild',
          ...sources.descriptors,
          ...admission.descriptors,
          ...further,
        ],
      })
      .finally(() => [filter, ...further].forEach((descriptor) => closeSync(descriptor)))
  }

  const firstFree = descriptors.first + sources.descriptors.length + admission.descriptors.length
  const createCell = async ({ words }: Laid): Promise<Cell> => {
    const child = await launch({
      words: [...keeperArguments(firstFree), ...words, ...environmentArguments(spec.env), '--chdir', '/'],
      stdin: 'report',
      script: cellGateScript,
      names: [],
      command: keeperCommand(parts.title, Object.keys(spec.env)),
      further: [openSync('/bin/sh', 'r')],
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

const tooMany = (): GloveboxError =>
  new GloveboxError(
    'TOO_LARGE',
    'Cannot run the command: the sandbox has more mounts, names and variables than bubblewrap takes',
    {
      hint: 'Mount fewer, larger directories, or pass fewer variables.',
    },
  )

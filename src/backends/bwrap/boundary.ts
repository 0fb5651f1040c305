// A live boundary. A command runs in a cell that it shares with nobody (cells.ts), or in a bwrap of its own where it needs one:
// for its input or terminal, for its secrets, for its length, or because the host has no means to tell a used cell from a new one.
import { dirname } from 'node:path'
import type { Boundary, BoundaryUsage, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Guard, Mask } from '../../guards/rule.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { refuseWider } from '../../policy/claim.ts'
import { joined, onTerminal } from '../../process/on-terminal.ts'
import type { Asking } from '../../process/asking.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import { planAdmission } from './admit.ts'
import { boundaryArguments, environmentArguments, gateLimits, guestSearchProgram, withSecretFiles } from './compile.ts'
import type { HostFacts } from './facts.ts'
import { openCell, type Cell } from './cell.ts'
import { openCells, type Laid } from './cells.ts'
import { cellGateScript, descriptors, terminalGateScript } from './gate.ts'
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
  readonly asking: Asking | undefined
  /** Looked at before every command. */
  guards(): Promise<readonly Guard[]>
}

export interface LiveBoundary extends Boundary {
  /** Ends every command and settles when all are gone. */
  endAll(): Promise<void>
}

export function liveBoundary(parts: BoundaryParts): LiveBoundary {
  const { facts, sources } = parts
  let { spec } = parts
  const running = new Set<Process>()
  const admission = planAdmission(parts.limitGroup, descriptors.first + sources.descriptors.length)
  let laid: (Laid & { readonly guards: readonly Guard[] }) | undefined
  let isFirst = true
  let memoryKills = 0
  const starting = new Set<Promise<unknown>>()
  let ending = false
  // Narrowing changes limits, never the environment.
  const isKeepable = canBeKept(spec.env)
  const refuseIfEnding = (): void => {
    if (ending) throw new GloveboxError('SANDBOX_GONE', 'Cannot run the command: the sandbox has been killed')
  }

  const laidWith = (
    guards: readonly Guard[],
    byBwrap: readonly Guard[],
  ): Laid & { readonly guards: readonly Guard[] } => {
    const mounts = spec.mounts.map((mount) => ({ mount, source: sources.of(mount) }))
    return {
      guards,
      words: boundaryArguments(spec, facts, { ...sources, mounts, guards: byBwrap, masks: parts.masks }),
      mountPoints: [spec.home, ...spec.mounts, ...guards, ...parts.masks].map(({ guestPath }) => guestPath),
    }
  }
  const layOut = async (): Promise<Laid> => {
    const guards = await parts.guards()
    if (isFirst) {
      isFirst = false
      if (parts.launcher.hold !== undefined) return laidWith(guards, holdAhead(guards, parts.launcher.hold, parts))
    }
    if (laid?.guards !== guards) laid = laidWith(guards, guards)
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
    return startBwrap({ ...parts, spec, admission }, start)
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
      asking: parts.asking as Asking,
      privatePlaces,
      ownNetwork: spec.policy.network.mode !== 'full',
    })
  }
  const track = <T>(started: Promise<T>): Promise<T> => {
    starting.add(started)
    const forget = (): void => void starting.delete(started)
    started.then(forget, forget)
    return started
  }
  // Also those that no command has asked for.
  const cells = openCells((now) => track(createCell(now)))

  const startAlone = async (request: SpawnRequest, { words }: Laid): Promise<Process> => {
    const env = { ...spec.env, ...request.env, ...request.secrets?.env }
    const files = request.secrets?.files ?? []
    const names = files.map(({ name }) => name)
    const laidOut = files.length === 0 ? words : withSecretFiles(words, names, firstFree({ ...parts, admission }))
    const alone = {
      words: [...laidOut, ...environmentArguments(env), '--chdir', request.cwd],
      names: Object.keys(env),
      command: request.argv,
      holds: files.map(({ bytes }) => bytes),
    }
    if (request.pty === undefined) return singleCommand(await launch({ ...alone, stdin: request.stdin }), keeping)
    return onTerminal(request.pty, async (terminal) => {
      const child = await launch({ ...alone, stdin: { terminal: terminal.childEnd }, script: terminalGateScript })
      return singleCommand(joined(child, terminal), keeping)
    })
  }
  const start = async (request: SpawnRequest): Promise<Process> => {
    refuseIfEnding()
    const now = await layOut()
    const keepable = parts.asking !== undefined && isKeepable && canBeKept(request.env)
    // A cell may have been made before its limits were narrowed.
    const limits = spec === parts.spec ? undefined : gateLimits(spec, facts)
    // SECURITY: a cell remembers nothing that is known of; a boundary that is thrown away remembers nothing at all.
    // test/attacks/vault: "a command after one with a secret finds nothing of it"
    const isAlone = request.pty !== undefined || request.secrets !== undefined
    const line = keepable && !isAlone ? lineFor(request, limits) : undefined
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
    spawn: (request) => track(start(request)),
    async prepare(how) {
      refuseIfEnding()
      if (parts.asking === undefined || !isKeepable) return
      await cells.prepare(await layOut(), how)
    },
    usage: async () => withReasons((await parts.limitGroup?.usage()) ?? {}),
    async narrow(limits) {
      refuseIfEnding()
      refuseWider(spec.policy, limits)
      const { memoryMb, cpuCores, pids, fileSizeMb } = limits
      // SECURITY: for the cell that waits already, too. test/attacks/recycle: "a claim's narrower limits hold from its first command"
      await parts.limitGroup?.set({ memoryBytes: memoryMb * 1024 * 1024, cpuCores, pids })
      spec = { ...spec, policy: { ...spec.policy, memoryMb, cpuCores, pids, fileSizeMb } }
      return true
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

/** Lays what can be laid before bwrap is started, and gives what is left for it.
 * SECURITY: it must hold as what bwrap lays does.
 * test/attacks/persistence: "a protected name cannot be planted, changed, moved or removed by a single command"
 * SECURITY: for the first command alone: a mount goes with a name that the host's owner puts something else in the place of.
 * test/attacks/persistence: "what the host puts in the place of a protected name is protected from the next command on" */
function holdAhead(
  guards: readonly Guard[],
  hold: (paths: readonly string[]) => void,
  { sources, spec }: BoundaryParts,
): readonly Guard[] {
  const roots = new Set(spec.mounts.filter(({ mode }) => mode === 'rw').map((mount) => sources.pathOf(mount)))
  // Not deeper, where what leads to a name could be swapped for a link.
  const isHeld = ({ rule, source }: Guard): boolean => rule === 'readonly' && roots.has(dirname(source))
  hold(guards.filter(isHeld).map(({ source }) => source))
  return guards.filter((guard) => !isHeld(guard))
}

function withReasons(usage: BoundaryUsage): BoundaryUsage {
  const missing = (['memoryBytes', 'pids', 'cpuMs'] as const).filter((what) => usage[what] === undefined)
  return { ...usage, notCounted: missing.map((what) => ({ what, why: 'no control group counts it on this host' })) }
}

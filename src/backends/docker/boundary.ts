// A live boundary: commands go to the containers of the sandbox, and files are reached by descriptor on the host's side.
import type { Boundary, NarrowableLimits, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { refuseWider } from '../../policy/claim.ts'
import { openCells, type CellTraits } from './cells.ts'
import type { Cell } from './cell.ts'
import { guestSearchProgram } from './compile.ts'
import { canBeKept } from './keeper.ts'
import type { Laid } from './layout.ts'
import type { Meters } from './meters.ts'

export interface BoundaryParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly files: HostFiles
  /** Looked at before every command. */
  readonly layOut: () => Promise<Laid>
  readonly createCell: (laid: Laid, spec: SandboxSpec, traits: CellTraits) => Promise<Cell>
  /** Holds containers that run already to less. Absent: the runtime cannot. */
  readonly limit?: (names: readonly string[], limits: NarrowableLimits) => Promise<void>
  readonly meters: Meters
  /** Every command goes by way of the daemon: one that it was told of while it hangs would begin some time later. */
  readonly refuseIfAway: () => void
}

export interface LiveBoundary extends Boundary {
  /** Makes the first container, so that what cannot be made is refused at once. */
  begin(): Promise<void>
  /** Ends every command and settles when all are gone. */
  endAll(): Promise<void>
  /** Settles when nothing is left of the containers. */
  cleared(): Promise<void>
}

export function liveBoundary(parts: BoundaryParts): LiveBoundary {
  const { id, files, layOut, createCell } = parts
  let { spec } = parts
  const running = new Set<Process>()
  let laid: Laid | undefined
  let isEnding = false
  const cells = openCells((_key, traits = {}) => createCell(laid as Laid, spec, traits))
  const look = async (): Promise<string> => {
    laid = await layOut()
    return laid.key
  }
  const refuseIfEnding = (): void => {
    if (isEnding) throw new GloveboxError('SANDBOX_GONE', 'Cannot run the command: the sandbox has been killed')
  }
  const spawn = async (request: SpawnRequest): Promise<Process> => {
    refuseIfEnding()
    parts.refuseIfAway()
    refuseOwnNames({ ...spec.env, ...request.env, ...request.secrets?.env })
    // A container may have been made before its limits were narrowed.
    const limits = spec === parts.spec ? undefined : spec.policy
    const process = await cells.run(request, await look(), limits)
    running.add(process)
    void process.exit.then(() => running.delete(process))
    return process
  }
  return {
    id,
    files,
    searchProgram: guestSearchProgram,
    // What every image has.
    shell: '/bin/sh',
    spawn,
    begin: async () => cells.prepare(await look()),
    async narrow(limits) {
      refuseIfEnding()
      refuseWider(spec.policy, limits)
      if (parts.limit === undefined) return false
      const { memoryMb, cpuCores, pids, fileSizeMb } = limits
      // SECURITY: for the container that waits already, too. test/attacks/recycle: "a claim's narrower limits hold from its first command"
      const held = spec.policy
      const isLess = memoryMb < held.memoryMb || cpuCores < held.cpuCores || pids < held.pids
      if (isLess) await parts.limit(cells.names(), limits)
      spec = { ...spec, policy: { ...spec.policy, memoryMb, cpuCores, pids, fileSizeMb } }
      return true
    },
    usage: () => parts.meters.usage(cells.names()),
    async endAll() {
      isEnding = true
      await cells.endAll()
      await Promise.all([...running].map((process) => process.exit))
    },
    cleared: () => cells.cleared(),
  }
}

function refuseOwnNames(env: Readonly<Record<string, string>>): void {
  if (canBeKept(env)) return
  throw new GloveboxError('INVALID_ENV', "Cannot run the command: a variable has a name of the keeper's own", {
    hint: 'Choose a name that does not begin with GLOVEBOX_KEEPER_.',
  })
}

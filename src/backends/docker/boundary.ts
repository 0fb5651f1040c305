// A live boundary: commands go to the containers of the sandbox, and files are reached by descriptor on the host's side.
import type { Boundary, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { openCells } from './cells.ts'
import type { Cell } from './cell.ts'
import { guestSearchProgram } from './compile.ts'
import { canBeKept } from './keeper.ts'
import type { Laid } from './layout.ts'

export interface BoundaryParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly files: HostFiles
  /** Looked at before every command. */
  readonly layOut: () => Promise<Laid>
  readonly createCell: (laid: Laid) => Promise<Cell>
}

export interface LiveBoundary extends Boundary {
  prepare(): Promise<void>
  /** Ends every command and settles when all are gone. */
  endAll(): Promise<void>
  /** Settles when nothing is left of the containers. */
  cleared(): Promise<void>
}

export function liveBoundary({ id, spec, files, layOut, createCell }: BoundaryParts): LiveBoundary {
  const running = new Set<Process>()
  let laid: Laid | undefined
  let isEnding = false
  const cells = openCells(() => createCell(laid as Laid))
  const look = async (): Promise<string> => {
    laid = await layOut()
    return laid.key
  }
  const refuseIfEnding = (): void => {
    if (isEnding) throw new GloveboxError('SANDBOX_GONE', 'Cannot run the command: the sandbox has been killed')
  }
  const spawn = async (request: SpawnRequest): Promise<Process> => {
    refuseIfEnding()
    refuseOwnNames({ ...spec.env, ...request.env })
    const process = await cells.run(request, await look())
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
    prepare: async () => cells.prepare(await look()),
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

// From what was asked for to a live terminal.
import type { Process, ProcessExit, SpawnRequest } from '../../contract/backend.ts'
import { newShellId } from '../../contract/ids.ts'
import type { GuestPath } from '../../contract/mount.ts'
import type { Terminal, TerminalEnd, TerminalOpenOptions } from '../../contract/shell.ts'
import { customarySize } from '../../contract/terminal.ts'
import { liveTerminal } from './terminal.ts'

export interface TerminalOpening {
  /** Checked: it is a directory of the guest's. */
  readonly cwd: GuestPath
  readonly options: TerminalOpenOptions
  /** The path, inside, of the shell. */
  readonly shell: string
  readonly spawn: (request: SpawnRequest) => Promise<Process>
  readonly conclude: (exit: ProcessExit, said: string) => TerminalEnd
  readonly onClosed: () => void
}

/** What every program that draws has heard of, and what our own screen understands. */
const terminalName = 'xterm-256color'

export async function openTerminal({ cwd, options, shell, spawn, ...rest }: TerminalOpening): Promise<Terminal> {
  const size = options.pty === true ? customarySize : options.pty
  const child = await spawn({
    argv: options.argv ?? [shell],
    cwd,
    env: { TERM: terminalName, ...options.env },
    stdin: 'pipe',
    pty: size,
  })
  return liveTerminal({ ...rest, id: newShellId(), cwd, size, child })
}

// Commands of a hosted sandbox's shells that outlive the request that began them: the same as commands without a shell, and
// followed in the same way, under the numbers that their shell gives them.
import type { ExecResult, RunOptions } from '../../contract/exec.ts'
import type { ShellId } from '../../contract/ids.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { Shell, ShellExecOptions, ShellResult } from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openCommands, type HostedCommand, type Runner } from './commands.ts'
import { openShelf, type Shelf } from './shelf.ts'

export interface NumberedCommands {
  start(command: string, options: Pick<ShellExecOptions, 'timeoutMs'>): Promise<NumberedCommand>
  find(number: number): HostedCommand | undefined
}

export interface NumberedCommand {
  readonly number: number
  readonly command: HostedCommand
}

export interface ShellCommands {
  /** The same ones for as long as the shell is open, by whatever hand it is held. */
  of(sandbox: Sandbox, shell: Shell): NumberedCommands
}

const keptOutputBytes = 64 * 1024 * 1024
/** Of more shells than this, those that were used longest ago lose what is kept for readers that come back. */
const mostShells = 1000

export function openShellCommands(): ShellCommands {
  const shelf = openShelf(keptOutputBytes)
  const known = new Map<ShellId, NumberedCommands>()
  return {
    of(sandbox, shell) {
      const found = known.get(shell.id) ?? numbered(sandbox, shell, shelf)
      known.delete(shell.id)
      known.set(shell.id, found)
      const [oldest] = known.keys()
      if (known.size > mostShells && oldest !== undefined) known.delete(oldest)
      return found
    },
  }
}

function numbered(sandbox: Sandbox, shell: Shell, shelf: Shelf): NumberedCommands {
  const numbers = new Map<number, string>()
  let announce: (number: number) => void = () => {}
  const runner: Runner = {
    describe: () => sandbox.describe(),
    commands: {
      run: async (command, options = {}) => {
        if (typeof command !== 'string') throw new GloveboxError('INVALID_INPUT', 'Cannot run it: a shell takes text')
        // Called within `start` below, before anything is awaited.
        const tell = announce
        const begun = await shell.start(command, taken(options))
        tell(begun.number)
        return begun.result
      },
    },
  }
  const commands = openCommands(runner, shelf)
  /** Those that were let go of since are forgotten. */
  const remember = (number: number, execId: string): void => {
    for (const [old, id] of numbers) if (commands.find(id) === undefined) numbers.delete(old)
    numbers.set(number, execId)
  }
  return {
    async start(text, options) {
      const announced = new Promise<number>((resolve) => (announce = resolve))
      const command = commands.start(text, options)
      const number = await Promise.race([announced, command.settled.then((result) => asShellResult(result).number)])
      remember(number, command.execId)
      return { number, command }
    },
    find: (number) => commands.find(numbers.get(number) ?? ''),
  }
}

function taken({ timeoutMs, signal, onStdout, onStderr, keepBytes }: RunOptions): ShellExecOptions {
  return {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(signal === undefined ? {} : { signal }),
    ...(onStdout === undefined ? {} : { onStdout }),
    ...(onStderr === undefined ? {} : { onStderr }),
    ...(keepBytes === undefined ? {} : { keepBytes }),
  }
}

/** What the runner above answered with is a shell's result, whatever it went through since. */
export const asShellResult = (result: ExecResult): ShellResult => result as ShellResult

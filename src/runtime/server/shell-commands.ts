// Commands of a hosted sandbox's shells that outlive the request that began them: the same as commands without a shell, and
// followed in the same way, under the numbers that their shell gives them.
import type { ExecResult, RunOptions } from '../../contract/exec.ts'
import type { ShellId } from '../../contract/ids.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { Shell, ShellExecOptions, ShellResult } from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import {
  openCommands,
  type CommandStores,
  type HostedCommand,
  type HostedCommands,
  type Runner,
  type WaitedOptions,
} from './commands.ts'
import type { OutputRoom } from './output-room.ts'
import { openShelf } from './shelf.ts'

export interface NumberedCommands {
  /** To its end, for a caller that waits. */
  run(tokenId: string, command: string, options: WaitedCommand): Promise<ShellResult>
  start(tokenId: string, command: string, options: Pick<ShellExecOptions, 'timeoutMs'>): Promise<NumberedCommand>
  find(number: number): HostedCommand | undefined
}

export type WaitedCommand = Pick<ShellExecOptions, 'timeoutMs' | 'signal'> & Pick<WaitedOptions, 'taken'>

export interface NumberedCommand {
  readonly number: number
  readonly command: HostedCommand
}

export interface ShellCommands {
  /** The same ones for as long as the shell is open, by whatever hand it is held. A shell that nobody else holds is not held here: it has
   * what its last commands said. */
  of(sandbox: Sandbox, shell: Shell): NumberedCommands
  /** In all of them. */
  readonly running: number
  stop(): Promise<void>
}

const keptOutputBytes = 64 * 1024 * 1024
/** Of more shells than this, those that were used longest ago, and run nothing, lose what is kept for readers that come back. */
const mostShells = 1000

export function openShellCommands(room: OutputRoom): ShellCommands {
  const stores = { shelf: openShelf(keptOutputBytes), room }
  const known = new Map<ShellId, Kept>()
  return {
    of(sandbox, shell) {
      const found = known.get(shell.id) ?? openKept(sandbox, stores)
      known.delete(shell.id)
      known.set(shell.id, found)
      const oldest = known.size > mostShells ? [...known].find(([, { running }]) => running === 0) : undefined
      if (oldest !== undefined) {
        known.delete(oldest[0])
        oldest[1].forget()
      }
      return found.through(shell)
    },
    get running() {
      return [...known.values()].reduce((sum, { running }) => sum + running, 0)
    },
    async stop() {
      await Promise.all([...known.values()].map((each) => each.stop()))
    },
  }
}

/** What outlives a request. */
interface Kept extends Pick<HostedCommands, 'forget' | 'running' | 'stop'> {
  through(shell: Shell): NumberedCommands
}

/** To whom the next command is given, and who is told its number. */
interface Next {
  readonly shell: Shell
  readonly announce: (number: number) => void
}

function openKept(sandbox: Sandbox, stores: CommandStores): Kept {
  const numbers = new Map<number, string>()
  let next: Next | undefined
  /** Called within `give` below, before anything is awaited. */
  const takeNext = (): Next => {
    const given = next
    next = undefined
    if (given === undefined) throw new Error('a command was given to no shell')
    return given
  }
  const give = <Value>(given: Next, work: () => Value): Value => {
    next = given
    return work()
  }
  const runner: Runner = {
    describe: () => sandbox.describe(),
    commands: {
      run: async (command, options = {}) => {
        const { shell, announce } = takeNext()
        if (typeof command !== 'string') throw new GloveboxError('INVALID_INPUT', 'Cannot run it: a shell takes text')
        const begun = await shell.start(command, taken(options))
        announce(begun.number)
        return begun.result
      },
    },
  }
  const commands = openCommands(runner, stores)
  /** Those that were let go of since are forgotten. */
  const remember = (number: number, execId: string): void => {
    for (const [old, id] of numbers) if (commands.find(id) === undefined) numbers.delete(old)
    numbers.set(number, execId)
  }
  return {
    through: (shell) => ({
      run: async (tokenId, text, options) =>
        asShellResult(await give({ shell, announce: () => {} }, () => commands.run(tokenId, text, options))),
      async start(tokenId, text, options) {
        let announce: Next['announce'] = () => {}
        const announced = new Promise<number>((resolve) => (announce = resolve))
        const command = give({ shell, announce }, () => commands.start(tokenId, text, options))
        const number = await Promise.race([announced, command.settled.then((result) => asShellResult(result).number)])
        remember(number, command.execId)
        return { number, command }
      },
      find: (number) => commands.find(numbers.get(number) ?? ''),
    }),
    forget: () => commands.forget(),
    get running() {
      return commands.running
    },
    stop: () => commands.stop(),
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

// Shells of a recorded sandbox: opening, every command and closing are actions of the record, under the names by which they can be
// performed again. A terminal has no such words: what a person types there would be lost to the record.
import type {
  SandboxShells,
  Shell,
  ShellExecOptions,
  ShellOpenOptions,
  ShellResult,
  Terminal,
  TerminalOpenOptions,
} from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import { answeredByAction, answeredByCommand, type Answered } from './action-files.ts'
import { askedAction, type AskedAction } from './asked-action.ts'

export interface ActionRecording {
  perform<Answer>(
    asked: AskedAction,
    effect: () => Promise<Answer>,
    answered: (answer: Answer) => Answered,
  ): Promise<Answer>
}

export function recordedShells(shells: SandboxShells, recording: ActionRecording): SandboxShells {
  const known = new Map<string, Shell>()
  const recorded = (shell: Shell): Shell => {
    const found = known.get(shell.id) ?? recordedShell(shell, recording)
    known.set(shell.id, found)
    return found
  }
  async function open(options?: ShellOpenOptions): Promise<Shell>
  async function open(options: TerminalOpenOptions): Promise<Terminal>
  async function open(options: ShellOpenOptions | TerminalOpenOptions = {}): Promise<Shell | Terminal> {
    if ('pty' in options)
      throw new GloveboxError('POLICY_DENIED', 'Cannot open a terminal: what is typed there cannot be recorded', {
        hint: 'Open a shell without pty, and run commands in it.',
      })
    const { signal: _, ...input } = options
    const shell = await recording.perform(
      askedAction('open_persistent_shell', input),
      () => shells.open(options),
      ({ id }) => answeredByAction({ shellId: id }),
    )
    return recorded(shell)
  }
  return {
    open,
    list: () => shells.list(),
    async get(id) {
      const shell = await shells.get(id)
      return shell.kind === 'commands' ? recorded(shell) : shell
    },
  }
}

function recordedShell(shell: Shell, recording: ActionRecording): Shell {
  const shellId = shell.id
  const asked = (command: string, { timeoutMs }: ShellExecOptions): AskedAction =>
    askedAction('exec_persistent_shell', { shellId, command, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  const exec = (command: string, options: ShellExecOptions = {}): Promise<ShellResult> =>
    recording.perform(asked(command, options), () => shell.exec(command, options), answeredByCommand)
  const close = (): Promise<void> =>
    recording.perform(
      askedAction('close_persistent_shell', { shellId }),
      () => shell.close(),
      () => answeredByAction({ shellId, closed: true }),
    )
  return {
    id: shell.id,
    kind: 'commands',
    exec,
    async start(command, options = {}) {
      const begun = await new Promise<{ readonly number: number; readonly result: Promise<ShellResult> }>(
        (resolve, reject) => {
          const result = recording.perform(
            asked(command, options),
            async () => {
              const started = await shell.start(command, options)
              resolve({ number: started.number, result })
              return started.result
            },
            answeredByCommand,
          )
          result.catch(reject)
        },
      )
      return begun
    },
    wait: (options) => shell.wait(options),
    inspect: () => shell.inspect(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

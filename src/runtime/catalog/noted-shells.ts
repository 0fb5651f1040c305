// Shells whose commands are noted, and a view of those that are open that can be had at once.
import type { LiveCatalog } from '../../catalog/catalog.ts'
import type {
  SandboxShells,
  Shell,
  ShellInfo,
  ShellOpenOptions,
  Terminal,
  TerminalOpenOptions,
} from '../../contract/shell.ts'
import { noted } from './noted.ts'

export interface NotedShells extends SandboxShells {
  /** As they were seen last. */
  known(): readonly ShellInfo[]
  look(): Promise<void>
  /** A moment later, once for many that ask. */
  lookSoon(): void
}

// Shells may run thousands of commands a second; nobody reads as often.
const lookEveryMs = 100

export function notedShells(shells: SandboxShells, catalog: () => LiveCatalog): NotedShells {
  let seen: readonly ShellInfo[] = []
  let isUsed = false
  let timer: NodeJS.Timeout | undefined

  const look = async (): Promise<void> => {
    if (!isUsed) return
    // A sandbox that is gone has none.
    seen = await shells.list().catch(() => [])
  }
  const lookSoon = (): void => {
    isUsed = true
    timer ??= setTimeout(() => {
      timer = undefined
      void look().then(() => catalog().touch())
    }, lookEveryMs).unref()
  }
  const told = ({ id }: Shell | Terminal): void => {
    catalog().note('shell_opened', `${id} was opened`)
    lookSoon()
  }
  const closing = (shell: Shell | Terminal) => async (): Promise<void> => {
    await shell.close()
    catalog().note('shell_closed', `${shell.id} was closed`)
    lookSoon()
  }
  const wrapped = (shell: Shell): Shell => {
    const deed = (command: string) => {
      // At once: a command that waited here would come after one that was given later.
      if (command.includes('.glovebox')) catalog().settle()
      return { action: 'run', about: command, shellId: shell.id }
    }
    const close = closing(shell)
    return {
      ...shell,
      exec: (command, options) =>
        noted(
          catalog(),
          deed(command),
          () => shell.exec(command, options),
          (result) => result,
        ).finally(lookSoon),
      async start(command, options) {
        const started = await shell.start(command, options)
        noted(
          catalog(),
          deed(command),
          () => started.result,
          (result) => result,
        )
          // Whoever waits for the command is told.
          .catch(() => {})
          .finally(lookSoon)
        return started
      },
      close,
      [Symbol.asyncDispose]: close,
    }
  }
  const watch = ({ id, ended }: Terminal): void => {
    const over = (): void => {
      catalog().note('shell_closed', `${id} ended`)
      lookSoon()
    }
    void ended.then(over, over)
  }
  const either = (shell: Shell | Terminal): Shell | Terminal => (shell.kind === 'commands' ? wrapped(shell) : shell)

  async function open(options?: ShellOpenOptions): Promise<Shell>
  async function open(options: TerminalOpenOptions): Promise<Terminal>
  async function open(options: ShellOpenOptions | TerminalOpenOptions = {}): Promise<Shell | Terminal> {
    const shell = (await shells.open(options)) as Shell | Terminal
    told(shell)
    if (shell.kind === 'commands') return wrapped(shell)
    watch(shell)
    return shell
  }
  return {
    open,
    list: () => shells.list(),
    get: async (id) => either(await shells.get(id)),
    known: () => seen,
    look,
    lookSoon,
  }
}

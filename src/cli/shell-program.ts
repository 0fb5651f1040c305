// The words of `glovebox shell`. What it does is loaded when it is called.
import { type Command, Option } from 'commander'
import type { ShellFlags } from './commands/shell.ts'
import { addSandboxFlags, addServerFlags } from './flags.ts'
import type { ProgramOptions } from './program.ts'

const examples = `Examples:
  $ glovebox shell
  $ glovebox shell --net full --memory 2g -- python3
  $ glovebox shell --list
  $ glovebox shell --attach sh_…
  $ glovebox shell --server http://127.0.0.1:4177
  $ glovebox shell --server http://127.0.0.1:4177 --sandbox sbx_… --attach sh_…
`

export function addShell(command: Command, options: ProgramOptions): void {
  command
    .description(
      `Opens a shell in a new sandbox, on a terminal. The current directory is /workspace, writable, unless mounts are given.

Ctrl-] d leaves the shell to itself, and --attach comes back to it, with its screen as it stands. Until it is left it ends with this command; then with its own program, or by \`glovebox stop sh_…\`.

With --server the sandbox is made there, with an empty workspace.

Exit code: the program's own; 125 glovebox failed, 0 after leaving.`,
    )
    .addHelpText('before', examples)
    .argument('[command...]', 'instead of a shell: a program and its arguments')
    .passThroughOptions()
  addServerFlags(addSandboxFlags(command, options.directory, { without: ['timeout', 'max-stdout', 'secret'] }))
    .option('--sandbox <id>', 'in this sandbox of the server, which is left as it is')
    .option('--attach <id>', 'to this shell, which was left and goes on')
    .option('--list', 'print the shells of this host that are open')
    .addOption(new Option('--hold').hideHelp())
    .action((argv: readonly string[], flags: ShellFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/shell.ts')).shell(argv, flags, doing) })
    })
}

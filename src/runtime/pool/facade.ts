// A sandbox for those who hold it longer than its boundary lives: each use goes to the one that is open now, and opens it first where it
// rests. What it says of itself while it rests is what it said when it was open last.
import type { SandboxId } from '../../contract/ids.ts'
import type { Description, Sandbox } from '../../contract/sandbox.ts'
import type { SandboxShells, TerminalOpenOptions } from '../../contract/shell.ts'
import { sandboxFiles } from '../files.ts'

export interface FacadeParts {
  readonly id: SandboxId
  readonly live: () => Promise<Sandbox>
  readonly describe: () => Description
  readonly kill: () => Promise<void>
  /** What `await using` does at its end. */
  readonly dispose: () => Promise<void>
}

export function sandboxFacade({ id, live, describe, kill, dispose }: FacadeParts): Sandbox {
  const execute: Sandbox['execute'] = async (...asked) => (await live()).execute(...asked)
  return {
    id,
    describe,
    execute,
    commands: { run: async (...asked) => (await live()).commands.run(...asked) },
    files: sandboxFiles(execute),
    provision: async (...asked) => (await live()).provision(...asked),
    catalog: async () => (await live()).catalog(),
    shells: {
      open: (async (options: TerminalOpenOptions) => (await live()).shells.open(options)) as SandboxShells['open'],
      list: async () => (await live()).shells.list(),
      get: async (shellId) => (await live()).shells.get(shellId),
    },
    kill,
    [Symbol.asyncDispose]: dispose,
  }
}

// A sandbox for those who hold it longer than its boundary lives: each use goes to the one that is open now, and opens it first where it
// rests. What it says of itself while it rests is what it said when it was open last.
import type { SandboxId } from '../../contract/ids.ts'
import type { Description, Sandbox } from '../../contract/sandbox.ts'
import type { SandboxShells, TerminalOpenOptions } from '../../contract/shell.ts'
import { sandboxFiles } from '../files.ts'

export interface FacadeParts {
  readonly id: SandboxId
  /** Whoever asks for it is about to use it. */
  readonly live: () => Promise<Sandbox>
  /** One use of it, from its beginning to its end. */
  readonly during: <Value>(work: (sandbox: Sandbox) => Promise<Value>) => Promise<Value>
  /** As it is open now. Being looked at is no use of it. */
  readonly open: () => Sandbox | undefined
  readonly describe: () => Description
  readonly kill: () => Promise<void>
  /** What `await using` does at its end. */
  readonly dispose: () => Promise<void>
}

export function sandboxFacade({ id, live, during, open, describe, kill, dispose }: FacadeParts): Sandbox {
  const execute: Sandbox['execute'] = (...asked) => during((sandbox) => sandbox.execute(...asked))
  return {
    id,
    describe,
    execute,
    commands: { run: (...asked) => during((sandbox) => sandbox.commands.run(...asked)) },
    files: sandboxFiles(execute),
    provision: async (...asked) => (await live()).provision(...asked),
    catalog: async () => (open() ?? (await live())).catalog(),
    shells: {
      open: ((options: TerminalOpenOptions) =>
        during((sandbox) => sandbox.shells.open(options))) as SandboxShells['open'],
      // Shells end with what they run in.
      list: async () => (await open()?.shells.list()) ?? [],
      get: async (shellId) => (await live()).shells.get(shellId),
    },
    kill,
    [Symbol.asyncDispose]: dispose,
  }
}

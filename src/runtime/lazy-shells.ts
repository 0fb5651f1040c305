// `sandbox.shells` before there is one: what shells need is loaded when the first is opened.
import type { SandboxShells, Shell, ShellOpenOptions, Terminal, TerminalOpenOptions } from '../contract/shell.ts'
import { GloveboxError } from '../errors/error.ts'
import type { LiveShells, ShellsParts } from './shells.ts'

export interface LazyShells extends SandboxShells {
  closeAll(): Promise<void>
  /** How many are open. */
  count(): number
}

export function lazyShells(parts: ShellsParts): LazyShells {
  let opened: LiveShells | undefined
  const load = async (): Promise<LiveShells> => {
    const { openShells } = await import('./shells.ts')
    opened ??= openShells(parts)
    return opened
  }
  async function open(options?: ShellOpenOptions): Promise<Shell>
  async function open(options: TerminalOpenOptions): Promise<Terminal>
  async function open(options: ShellOpenOptions | TerminalOpenOptions = {}): Promise<Shell | Terminal> {
    const shells = await load()
    return 'pty' in options ? shells.open(options) : shells.open(options)
  }
  return {
    open,
    list: () => parts.use(async () => (await opened?.list()) ?? []),
    get: (id) =>
      parts.use(async () => {
        if (opened === undefined) throw unknownShell()
        return opened.get(id)
      }),
    closeAll: async () => opened?.closeAll(),
    count: () => opened?.count() ?? 0,
  }
}

export const unknownShell = (): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot use the shell: none of that id is open', {
    hint: 'Open one, or list those that are open.',
    facts: { what: 'shell' },
  })

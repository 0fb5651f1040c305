// `sandbox.shells` from afar. A shell lives on the server, with or without anybody who looks; whoever knows its id can come back to it.
import type { ExecId, ShellId } from '../contract/ids.ts'
import type {
  SandboxShells,
  Shell,
  ShellExecOptions,
  ShellInfo,
  ShellOpenOptions,
  ShellResult,
  ShellWaited,
  Terminal,
  TerminalOpenOptions,
} from '../contract/shell.ts'
import { GloveboxError } from '../errors/error.ts'
import { followCommand } from './commands.ts'
import { eventStream } from './follow.ts'
import { closeShell } from './close-shell.ts'
import { make } from './make.ts'
import type { Server } from './server.ts'
import { remoteTerminal } from './terminal.ts'

/** Tells the end of the sandbox for what it is. */
export type WhileAlive = <Value>(work: () => Promise<Value>) => Promise<Value>

export function remoteShells(server: Server, sandboxPath: string, whileAlive: WhileAlive): SandboxShells {
  const root = `${sandboxPath}/shells`
  const held = (info: ShellInfo): Shell | Terminal =>
    info.kind === 'terminal' ? remoteTerminal(server, root, info.id) : remoteShell(server, root, info.id)
  async function open(options?: ShellOpenOptions): Promise<Shell>
  async function open(options: TerminalOpenOptions): Promise<Terminal>
  async function open({ signal, ...request }: ShellOpenOptions = {}): Promise<Shell | Terminal> {
    const asked = { method: 'POST', path: root, json: request, signal, doing: 'open the shell' } as const
    return whileAlive(async () =>
      held(await make<ShellInfo>(server, asked, ({ id }) => closeShell(server, `${root}/${id}`))),
    )
  }
  return {
    open,
    list: () =>
      whileAlive(async () => {
        const asked = { method: 'GET', path: root, doing: 'list the shells' } as const
        return (await server.json<{ readonly items: readonly ShellInfo[] }>(asked)).items
      }),
    get: (id) =>
      whileAlive(async () => {
        const path = `${root}/${encodeURIComponent(id)}`
        return held(await server.json<ShellInfo>({ method: 'GET', path, doing: 'find the shell' }))
      }),
  }
}

/** The server waits no longer at a time. */
const longestWaitMs = 50_000

function remoteShell(server: Server, root: string, id: ShellId): Shell {
  const path = `${root}/${id}`
  const begin = async (command: string, options: ShellExecOptions) => {
    if (options.signal?.aborted === true)
      throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
    // The caller's signal does not end this request: without its answer nobody could say which command to end.
    const opened = await server.open({
      method: 'POST',
      path: `${path}/commands`,
      doing: 'run the command',
      json: { command, timeoutMs: options.timeoutMs },
      accept: eventStream,
    })
    if ('error' in opened) throw opened.error
    const number = numberIn(opened.value.headers.get('location') ?? '', path)
    const begun = { path: `${path}/commands/${number}`, execId: unknownExec, first: opened.value }
    // Its last event is a shell's, and tells more than a command's.
    return { number, result: followCommand(server, begun, options) as Promise<ShellResult> }
  }
  const waitOnce = (leftMs: number, number: number | undefined, signal: AbortSignal | undefined) => {
    const waitMs = Math.min(leftMs, longestWaitMs)
    return server.json<ShellWaited>({
      method: 'GET',
      path: `${path}/wait`,
      query: { number, wait_ms: waitMs },
      waitMs,
      signal,
      doing: 'wait for the command',
    })
  }
  const close = (): Promise<void> => closeShell(server, path)
  return {
    id,
    kind: 'commands',
    inspect: () => server.json<ShellInfo>({ method: 'GET', path, doing: 'look at the shell' }),
    exec: async (command, options = {}) => (await begin(command, options)).result,
    async start(command, options = {}) {
      const begun = await begin(command, options)
      // Told by `wait`, whether or not anybody awaits it here.
      begun.result.catch(() => {})
      return begun
    },
    async wait({ number, waitMs, signal }) {
      const until = performance.now() + waitMs
      for (;;) {
        const waited = await waitOnce(Math.max(0, Math.round(until - performance.now())), number, signal)
        if (waited.done || performance.now() >= until) return waited
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** For a result that nobody can know. */
const unknownExec: ExecId = 'exec_unknown'

function numberIn(location: string, path: string): number {
  const [, number] = /^\/commands\/(\d{1,15})\/events$/.exec(location.slice(path.length)) ?? []
  if (location.startsWith(path) && number !== undefined) return Number(number)
  throw new GloveboxError('UNEXPECTED_ANSWER', 'Cannot follow the command: the server does not say where it is')
}

// The shells of one sandbox: which are open, what policy lets their commands use, and how their results are told. Loaded with the
// first one that is opened.
import type { Backend, Boundary, Plan, ProcessExit } from '../contract/backend.ts'
import { newExecId, type ShellId } from '../contract/ids.ts'
import type { GuestPath } from '../contract/mount.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import type {
  SandboxShells,
  Shell,
  ShellInfo,
  ShellOpenOptions,
  Terminal,
  TerminalEnd,
  TerminalOpenOptions,
} from '../contract/shell.ts'
import { GloveboxError } from '../errors/error.ts'
import { checkEnvironment } from '../policy/environment.ts'
import { execLimits } from '../policy/request.ts'
import { howItEnded } from '../process/collect.ts'
import { openLiveShell, type LiveShell } from '../shells/live.ts'
import type { Performed } from '../shells/perform.ts'
import { bootCommand } from '../shells/script/boot.ts'
import { openShell } from '../shells/shell.ts'
import { openTerminal as startTerminal } from '../shells/terminal/open.ts'
import { cwdChecker } from './cwd.ts'
import { boundaryFailed, checkArguments, exitCodeOf, toResult } from './exec.ts'
import { asHostFault } from './host-fault.ts'
import { unknownShell } from './lazy-shells.ts'
import { redactedTerminal } from './redacted-terminal.ts'
import type { Secrets } from './secrets.ts'

export interface ShellsParts {
  readonly backend: Backend
  readonly resolved: ResolvedPolicy
  readonly secrets: Pick<Secrets, 'redaction'>
  /** They change when the sandbox is provisioned. */
  standing(): { readonly plan: Plan; readonly boundary: Boundary }
  /** Refuses when the sandbox is gone; holds off changes to it meanwhile. */
  use<T>(work: () => Promise<T>): Promise<T>
  newId(): ShellId
}

export interface LiveShells extends SandboxShells {
  closeAll(): Promise<void>
  count(): number
}

/** Each costs a few processes; what no program asks for, a mistake in one does. */
const mostShells = 100
/** The kernel takes no single argument of 128 KiB or more, and a one-shot command no longer one; so it is the same here. */
const mostCommandBytes = 128 * 1024 - 1
const startPatienceMs = 30_000

export function openShells(parts: ShellsParts): LiveShells {
  const open = new Map<string, Shell | Terminal>()
  let opening = 0

  const spawn = async (argv: readonly [string, ...string[]], cwd: GuestPath, options: ShellOpenOptions) => {
    const { boundary } = parts.standing()
    const request = { argv, cwd, env: options.env ?? {}, stdin: 'pipe' } as const
    return boundary.spawn(request).catch((error: unknown) => {
      throw asHostFault(error, 'open the shell')
    })
  }
  const place = async (options: ShellOpenOptions): Promise<GuestPath> => {
    checkEnvironment(options.env ?? {})
    if (options.signal?.aborted === true)
      throw new GloveboxError('CANCELLED', 'Cannot open the shell: it was cancelled before it began')
    const { plan, boundary } = parts.standing()
    return cwdChecker(plan, boundary)(options.cwd)
  }
  const start = async (cwd: GuestPath, options: ShellOpenOptions): Promise<LiveShell> => {
    const alone = parts.backend.capabilities['process.isolated'] !== undefined
    const live = openLiveShell(await spawn(bootCommand({ alone }), cwd, options))
    await greet(live, parts.standing().plan.backend)
    return live
  }
  const conclude = (performed: Performed, cwd: GuestPath) => {
    const { plan } = parts.standing()
    if (performed.setupFailed !== undefined) throw boundaryFailed(plan.backend, performed.setupFailed, performed)
    return toResult(performed, plan, { execId: newExecId(), cwd })
  }
  const openCommands = async (options: ShellOpenOptions): Promise<Shell> => {
    const cwd = await place(options)
    const id = parts.newId()
    const shell = await openShell({
      id,
      cwd,
      start: () => start(cwd, options),
      limits: ({ timeoutMs }) => execLimits(parts.resolved, timeoutMs === undefined ? {} : { timeoutMs }),
      text: (command) => textOf(command, parts.standing().boundary),
      redact: () => parts.secrets.redaction.open(),
      use: (work) => parts.use(work),
      conclude: (performed) => conclude(performed, cwd),
      onClosed: () => void open.delete(id),
    })
    open.set(id, shell)
    return shell
  }
  const openTerminal = async (options: TerminalOpenOptions): Promise<Terminal> => {
    const cwd = await place(options)
    if (options.argv !== undefined) checkArguments(options.argv)
    const { plan, boundary } = parts.standing()
    const terminal: Terminal = await startTerminal({
      cwd,
      options,
      shell: boundary.shell,
      spawn: async (request) => {
        const process = await boundary.spawn(request).catch((error: unknown) => {
          throw asHostFault(error, 'open the terminal')
        })
        return redactedTerminal(process, parts.secrets.redaction)
      },
      conclude: (exit, said) => endOf(exit, said, plan.backend),
      onClosed: () => void open.delete(terminal.id),
    })
    open.set(terminal.id, terminal)
    void terminal.ended.catch(() => {}).then(() => forgetEnded(open, terminal))
    return terminal
  }
  const counted = async <Opened>(work: () => Promise<Opened>): Promise<Opened> =>
    parts.use(async () => {
      if (open.size + opening >= mostShells)
        throw new GloveboxError('QUOTA_EXCEEDED', `Cannot open the shell: ${mostShells} are open already`, {
          hint: 'Close one.',
        })
      opening += 1
      try {
        return await work()
      } finally {
        opening -= 1
      }
    })
  async function openEither(options?: ShellOpenOptions): Promise<Shell>
  async function openEither(options: TerminalOpenOptions): Promise<Terminal>
  async function openEither(options: ShellOpenOptions | TerminalOpenOptions = {}): Promise<Shell | Terminal> {
    return 'pty' in options ? counted(() => openTerminal(options)) : counted(() => openCommands(options))
  }

  return {
    open: openEither,
    list: () => Promise.all([...open.values()].map((shell): Promise<ShellInfo> => shell.inspect())),
    async get(id) {
      const shell = open.get(id)
      if (shell !== undefined) return shell
      throw unknownShell()
    },
    count: () => open.size,
    closeAll: async () => void (await Promise.all([...open.values()].map((shell) => shell.close()))),
  }
}

function endOf(exit: ProcessExit, said: string, backend: string): TerminalEnd {
  if (exit.setupFailed !== undefined) {
    const bytes = Buffer.from(said)
    throw boundaryFailed(backend, exit.setupFailed, { stderr: { bytes, totalBytes: bytes.length, truncated: false } })
  }
  const ended = howItEnded(exit, undefined, 0)
  return { ended, exitCode: exitCodeOf(ended) }
}

/** Whoever was away when the program ended can still see how; of many that ended, the last ones. */
const mostEnded = 8

async function forgetEnded(open: ReadonlyMap<string, Shell | Terminal>, ended: Terminal): Promise<void> {
  const infos = await Promise.all([...open.values()].map(async (shell) => ({ shell, info: await shell.inspect() })))
  const over = infos.filter(({ shell, info }) => info.status === 'closed' && shell !== ended)
  await Promise.all(over.slice(0, Math.max(0, over.length - mostEnded + 1)).map(({ shell }) => shell.close()))
}

/** A shell that does not answer is none. */
async function greet(live: LiveShell, backend: string): Promise<void> {
  const said: Uint8Array[] = []
  const timer = setTimeout(() => live.kill(), startPatienceMs)
  const told = await live.run(':', { stdout: () => {}, stderr: (chunk) => void (said.length < 16 && said.push(chunk)) })
  clearTimeout(timer)
  if (!('exit' in told)) return
  const { setupFailed, lost, code, signal } = told.exit
  const bytes = Buffer.concat(said)
  const stderr = { bytes, totalBytes: bytes.length, truncated: false }
  throw boundaryFailed(backend, setupFailed ?? lost ?? `the shell ended with ${signal ?? code}`, { stderr })
}

function textOf(command: string, boundary: Boundary): string {
  if (typeof command !== 'string' || command.includes('\0'))
    throw new GloveboxError('INVALID_INPUT', 'Cannot run the command: it has a NUL byte or is no text')
  const bytes = Buffer.byteLength(command)
  if (bytes > mostCommandBytes)
    throw new GloveboxError(
      'TOO_LARGE',
      `Cannot run the command: it has ${bytes} bytes, a shell takes ${mostCommandBytes}`,
      {
        hint: 'Write it to a file and run that.',
        facts: { bytes, maxBytes: mostCommandBytes },
      },
    )
  return boundary.commandText?.(command) ?? command
}

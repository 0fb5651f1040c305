// `glovebox shell`: a person in a sandbox, on a terminal.
import type { TerminalEnd } from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import { serverAsked } from '../../runtime/remote.ts'
import type { SandboxFlags } from '../flags.ts'
import { jsonLine } from '../output.ts'
import type { Doing } from '../program.ts'
import { refuseGiven } from '../refuse.ts'
import { type Interrupts, watchInterrupts } from '../signals.ts'
import { type Seat, takeSeat } from '../terminal/seat.ts'
import type { Outcome } from '../terminal/sit.ts'

export interface ShellFlags extends SandboxFlags {
  readonly sandbox?: string
  readonly attach?: string
  readonly list?: boolean
  /** Not for people: this process is to hold a shell for another one. */
  readonly hold?: boolean
}

/** What came of it, for the exit code and for those who read JSON. */
export interface Sat {
  readonly outcome: Outcome
  readonly end: TerminalEnd | undefined
  readonly sandbox: string
  readonly shell: string
  /** What was made for it is there still, though its program has ended. */
  readonly isKept?: boolean
}

export async function shell(argv: readonly string[], flags: ShellFlags, doing: Doing): Promise<number> {
  if (flags.hold === true) return (await import('./held/hold.ts')).hold()
  const isFar = serverAsked(flags) !== undefined
  if (!isFar) refuseFarFlags(flags)
  if (flags.attach !== undefined) refuseBeginning(argv, flags)
  if (flags.list === true) return (await import('./held/list.ts')).list(flags, doing)
  const interrupts = watchInterrupts()
  const seat = takeSeat(doing.face.out)
  try {
    const asked: Asked = { argv, flags, doing, seat, interrupts }
    const sat = isFar
      ? await (await import('./remote/shell.ts')).sitFar(asked)
      : await (await import('./held/shell.ts')).sitNear(asked)
    await seat.leave()
    return await report(sat, asked)
  } catch (error) {
    await seat.leave()
    throw error
  } finally {
    interrupts.stop()
  }
}

export interface Asked {
  readonly argv: readonly string[]
  readonly flags: ShellFlags
  readonly doing: Doing
  readonly seat: Seat
  readonly interrupts: Interrupts
}

export const programOf = ([program, ...rest]: readonly string[]): { readonly argv?: [string, ...string[]] } =>
  program === undefined ? {} : { argv: [program, ...rest] }

function refuseFarFlags({ sandbox }: ShellFlags): void {
  if (sandbox === undefined) return
  throw new GloveboxError('INVALID_INPUT', 'Cannot use --sandbox without a server', {
    hint: 'Name the server with --server, or with GLOVEBOX_SERVER. A shell that was left here is come back to with --attach alone.',
  })
}

/** SECURITY: a limit that a shell which was begun without it passed over would be counted on, and not be there.
 * test/e2e/shell-cli: "flags of a new shell are refused where one is come back to" */
function refuseBeginning(argv: readonly string[], flags: ShellFlags): void {
  if (argv.length > 0) throw bothAtOnce()
  refuseGiven(flags, [...ofNewSandboxes, '--cwd', '--env'], {
    beside: 'with --attach',
    cause: 'the shell has begun already',
    hint: 'Leave it out; or leave out --attach, and begin a new one.',
  })
}

export const ofNewSandboxes = ['--backend', '--mount', '--net', '--memory', '--cpus', '--pids', '--policy', '--vaults']

const bothAtOnce = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot attach and start a program at once', {
    hint: 'Leave out the program, or --attach.',
  })

const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

async function report(sat: Sat, { flags, doing, interrupts }: Asked): Promise<number> {
  const { outcome, end, sandbox, shell: id } = sat
  const { out, err } = doing.face
  if (flags.json === true) await out.write(jsonLine({ outcome, ...end, sandbox, shell: id }))
  else if (outcome === 'detached')
    await err.write(`glovebox: Left. The shell goes on; come back with:\n  $ ${await backTo(sandbox, id, flags)}\n`)
  else if (sat.isKept === true)
    await err.write(
      `glovebox: The program was killed. Its sandbox is kept:\n  $ ${await backTo(sandbox, undefined, flags)}\n`,
    )
  else if (end !== undefined && end.ended.by !== 'exit' && end.ended.by !== 'signal')
    await err.write(`glovebox: The program ended by ${end.ended.by}.\n`)
  if (outcome === 'detached') return 0
  return end?.exitCode ?? signalCodes[interrupts.received ?? 'SIGTERM']
}

async function backTo(sandboxId: string, shellId: string | undefined, flags: ShellFlags): Promise<string> {
  if (serverAsked(flags) === undefined) return `glovebox shell --attach ${shellId}`
  const { wayBack } = await import('./remote/connect.ts')
  return wayBack(flags, { sandboxId, ...(shellId === undefined ? {} : { shellId }) })
}

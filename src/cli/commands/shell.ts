// `glovebox shell`: a person in a sandbox, on a terminal.
import type { TerminalEnd } from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import { serverAsked } from '../../runtime/remote.ts'
import type { SandboxFlags } from '../flags.ts'
import { jsonLine } from '../output.ts'
import type { Doing } from '../program.ts'
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
}

export async function shell(argv: readonly string[], flags: ShellFlags, doing: Doing): Promise<number> {
  if (flags.hold === true) return (await import('./held/hold.ts')).hold()
  const isFar = serverAsked(flags) !== undefined
  if (!isFar) refuseFarFlags(flags)
  if (flags.attach !== undefined && argv.length > 0) throw bothAtOnce()
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

const bothAtOnce = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot attach and start a program at once', {
    hint: 'Leave out the program, or --attach.',
  })

const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

async function report({ outcome, end, sandbox, shell: id }: Sat, { flags, doing, interrupts }: Asked): Promise<number> {
  const { out, err } = doing.face
  if (flags.json === true) await out.write(jsonLine({ outcome, ...end, sandbox, shell: id }))
  else if (outcome === 'detached')
    await err.write(`glovebox: Left. The shell goes on; come back with:\n  $ ${backTo(sandbox, id, flags)}\n`)
  else if (end !== undefined && end.ended.by !== 'exit' && end.ended.by !== 'signal')
    await err.write(`glovebox: The program ended by ${end.ended.by}.\n`)
  if (outcome === 'detached') return 0
  return end?.exitCode ?? signalCodes[interrupts.received ?? 'SIGTERM']
}

function backTo(sandbox: string, id: string, { server, ...flags }: ShellFlags): string {
  if (serverAsked({ ...flags, ...(server === undefined ? {} : { server }) }) === undefined)
    return `glovebox shell --attach ${id}`
  const named = server === undefined ? [] : ['--server', server]
  return ['glovebox shell', ...named, '--sandbox', sandbox, '--attach', id].join(' ')
}

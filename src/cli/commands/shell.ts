// `glovebox shell`: a person in a sandbox, on a terminal.
import type { TerminalEnd } from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import { createSandbox } from '../../runtime/create.ts'
import { serverAsked } from '../../runtime/remote.ts'
import type { SandboxFlags } from '../flags.ts'
import { jsonLine } from '../output.ts'
import type { Doing } from '../program.ts'
import { requestFrom } from '../request.ts'
import { type Interrupts, watchInterrupts } from '../signals.ts'
import { type Seat, takeSeat } from '../terminal/seat.ts'
import { sit, type Outcome } from '../terminal/sit.ts'

export interface ShellFlags extends SandboxFlags {
  readonly sandbox?: string
  readonly attach?: string
}

/** What came of it, for the exit code and for those who read JSON. */
export interface Sat {
  readonly outcome: Outcome
  readonly end: TerminalEnd | undefined
  readonly sandbox: string
  readonly shell: string
}

export async function shell(argv: readonly string[], flags: ShellFlags, doing: Doing): Promise<number> {
  const isFar = serverAsked(flags) !== undefined
  if (!isFar) refuseFarFlags(flags)
  const interrupts = watchInterrupts()
  const seat = takeSeat(doing.face.out)
  try {
    const asked: Asked = { argv, flags, doing, seat, interrupts }
    const sat = isFar ? await (await import('./remote/shell.ts')).sitFar(asked) : await sitHere(asked)
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

async function sitHere({ argv, flags, doing, seat, interrupts }: Asked): Promise<Sat> {
  const sandbox = await createSandbox({ ...(await requestFrom(flags, doing.directory)), ownsProcess: true })
  try {
    const terminal = await sandbox.shells.open({ pty: seat.size, ...programOf(argv) })
    const line = {
      chunks: terminal.read(),
      // What is typed while the program ends goes nowhere, and what is too much is not taken, as at any terminal.
      write: (bytes: Uint8Array) => void terminal.write(bytes).catch(() => {}),
      resize: (size: Seat['size']) => void terminal.resize(size),
    }
    const outcome = await sit(seat, line, { signal: interrupts.signal, canDetach: false })
    const end = outcome === 'ended' ? await terminal.ended : undefined
    return { outcome, end, sandbox: sandbox.id, shell: terminal.id }
  } finally {
    await sandbox.kill()
  }
}

export const programOf = ([program, ...rest]: readonly string[]): { readonly argv?: [string, ...string[]] } =>
  program === undefined ? {} : { argv: [program, ...rest] }

function refuseFarFlags({ sandbox, attach }: ShellFlags): void {
  if (sandbox === undefined && attach === undefined) return
  throw new GloveboxError('INVALID_INPUT', 'Cannot use --sandbox or --attach without a server', {
    hint: 'Name the server with --server, or with GLOVEBOX_SERVER. `glovebox serve` starts one.',
  })
}

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

const backTo = (sandbox: string, id: string, { server }: ShellFlags): string =>
  ['glovebox shell', ...(server === undefined ? [] : ['--server', server]), '--sandbox', sandbox, '--attach', id].join(
    ' ',
  )

// `glovebox shell --server`: a person at a terminal that lives on a server, and that can be left and come back to.
import type { Attachment, ErrorCode, Glovebox, OpenSocket, SocketLike } from '../../../client/index.ts'
import type { Terminal, TerminalEnd } from '../../../contract/shell.ts'
import { GloveboxError, isGloveboxError } from '../../../errors/error.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { refuseGiven } from '../../refuse.ts'
import { sit, type Outcome } from '../../terminal/sit.ts'
import { type Asked, ofNewSandboxes, programOf, type Sat, type ShellFlags } from '../shell.ts'
import { connectTo, wayBack } from './connect.ts'
import { createRemoteSandbox } from './sandbox.ts'

const pausesMs = [0, 250, 500, 1000, 2000, 4000] as const

export async function sitFar(asked: Asked): Promise<Sat> {
  const { flags, doing } = asked
  const glovebox = connectTo(flags, doing)
  const { sandboxId, terminal, giveBack } = await findTerminal(glovebox, asked)
  const { outcome, end } = await stay(glovebox, { sandboxId, terminal, asked }).catch((error: unknown) => {
    // An error is nobody's wish: the terminal and its sandbox stay, with all that was done in them, and can be come back to.
    throw withWayBack(error, wayBack(flags, { sandboxId, shellId: terminal.id }))
  })
  const isKept = outcome === 'ended' && wasKilled(end)
  if (outcome !== 'detached' && !isKept) await giveBack()
  return { outcome, end, sandbox: sandboxId, shell: terminal.id, isKept }
}

/** Not by itself and for no limit: as with a server that had to let go of its sandboxes, whose files are there still. */
const wasKilled = (end: TerminalEnd | undefined): boolean =>
  end?.ended.by === 'lost' || (end?.ended.by === 'signal' && end.ended.signal === 'SIGKILL')

interface Found {
  readonly sandboxId: string
  readonly terminal: Terminal
  /** What was made for this sitting alone. */
  readonly giveBack: () => Promise<void>
}

async function findTerminal(glovebox: Glovebox, { flags, argv, doing, seat }: Asked): Promise<Found> {
  if (flags.sandbox === undefined) {
    if (flags.attach !== undefined) throw whichSandbox()
    const sandbox = await createRemoteSandbox(flags, doing)
    const terminal = await sandbox.shells.open({ pty: seat.size, ...programOf(argv) }).catch(async (error: unknown) => {
      // Nothing has been done in it yet.
      await sandbox.kill().catch(() => {})
      throw error
    })
    return { sandboxId: sandbox.id, terminal, giveBack: () => sandbox.kill() }
  }
  refuseGiven(flags, ofNewSandboxes, {
    beside: 'with --sandbox',
    cause: 'that is made already',
    hint: 'Leave it out; or leave out --sandbox, and have a new one.',
  })
  const sandbox = await glovebox.sandboxes.connect(flags.sandbox)
  if (flags.attach === undefined) {
    const terminal = await sandbox.shells.open({ pty: seat.size, ...placeOf(flags), ...programOf(argv) })
    return { sandboxId: sandbox.id, terminal, giveBack: () => terminal.close() }
  }
  const found = await sandbox.shells.get(flags.attach)
  if (found.kind === 'terminal') return { sandboxId: sandbox.id, terminal: found, giveBack: () => Promise.resolve() }
  throw new GloveboxError('INVALID_INPUT', 'Cannot attach to the shell: it is no terminal', {
    hint: 'Only a shell that was opened with a terminal can be shown on one.',
  })
}

const placeOf = ({ cwd, env }: ShellFlags) => ({
  ...(cwd === undefined ? {} : { cwd }),
  ...(env === undefined ? {} : { env }),
})

interface Staying {
  readonly sandboxId: string
  readonly terminal: Terminal
  readonly asked: Asked
}

interface Stayed {
  readonly outcome: Outcome
  readonly end: TerminalEnd | undefined
}

/** Over as many connections as it takes, every byte once. */
async function stay(
  glovebox: Glovebox,
  { sandboxId, terminal, asked: { seat, interrupts } }: Staying,
): Promise<Stayed> {
  let from: number | undefined
  const left = (end?: TerminalEnd): Stayed => ({
    outcome: interrupts.received === 'SIGHUP' ? 'detached' : 'interrupted',
    end,
  })
  for (let failures = 0; ;) {
    let attachment: Attachment | undefined
    try {
      // It may have another size by now than when it was last told.
      await terminal.resize(seat.size)
      attachment = await glovebox.terminals.attach(sandboxId, terminal.id, {
        ...(from === undefined ? {} : { from }),
        openSocket: await socketOpener(),
        signal: interrupts.signal,
      })
      const onShown = (offset: number): void => {
        from = offset
        failures = 0
      }
      const outcome = await sit(seat, attachment, { signal: interrupts.signal, canDetach: true, onShown })
      return outcome === 'interrupted' ? left(attachment.ended) : { outcome, end: attachment.ended }
    } catch (error) {
      if (interrupts.signal.aborted) return left()
      const pauseMs = isGloveboxError(error) && error.kind.retryable ? pausesMs[failures] : undefined
      if (pauseMs === undefined) throw error
      failures += 1
      await delay(pauseMs, undefined, { signal: interrupts.signal }).catch(() => {})
    } finally {
      attachment?.close()
    }
  }
}

const ends: ReadonlySet<string> = new Set<ErrorCode>(['NOT_FOUND', 'SANDBOX_GONE', 'SHELL_CLOSED'])

/** To what is there still. */
function withWayBack(error: unknown, way: string): unknown {
  if (!isGloveboxError(error) || ends.has(error.code)) return error
  const { code, message, operatorDetail, facts, kind } = error
  const withWhat = kind.http === 401 ? ' with another token in GLOVEBOX_TOKEN' : ''
  return new GloveboxError(code, message, {
    hint: `Nothing of it was ended. Come back${withWhat}: ${way}`,
    ...(operatorDetail === undefined ? {} : { operatorDetail }),
    facts,
    cause: error,
  })
}

/** Node has a WebSocket of its own only from 22 on. */
async function socketOpener(): Promise<OpenSocket> {
  const { WebSocket } = await import('ws')
  // It has what is asked of one, in types of its own.
  return (url, protocols, origin) =>
    new WebSocket(url, [...protocols], { origin, perMessageDeflate: false }) as unknown as SocketLike
}

const whichSandbox = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot attach to the shell: its sandbox was not named', {
    hint: 'Name it with --sandbox, as it was printed when you left.',
  })

// `glovebox shell --server`: a person at a terminal that lives on a server, and that can be left and come back to.
import type { Attachment, Glovebox, OpenSocket, SocketLike } from '../../../client/index.ts'
import type { Terminal, TerminalEnd } from '../../../contract/shell.ts'
import { GloveboxError, isGloveboxError } from '../../../errors/error.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { sit, type Outcome } from '../../terminal/sit.ts'
import { type Asked, programOf, type Sat, type ShellFlags } from '../shell.ts'
import { connectTo, refuseLocal } from './connect.ts'
import { createRemoteSandbox } from './sandbox.ts'

const pausesMs = [0, 250, 500, 1000, 2000, 4000] as const

export async function sitFar(asked: Asked): Promise<Sat> {
  const { flags, doing, seat } = asked
  const glovebox = connectTo(flags, doing)
  const { sandboxId, terminal, giveBack } = await findTerminal(glovebox, asked)
  try {
    await terminal.resize(seat.size)
    const { outcome, end } = await stay(glovebox, { sandboxId, shellId: terminal.id, asked })
    if (outcome !== 'detached') await giveBack()
    return { outcome, end, sandbox: sandboxId, shell: terminal.id }
  } catch (error) {
    // Where the connection is lost, the terminal and its sandbox stay, and can be come back to.
    if (!isGloveboxError(error) || error.code !== 'SERVER_UNREACHABLE') await giveBack().catch(() => {})
    throw error
  }
}

interface Found {
  readonly sandboxId: string
  readonly terminal: Terminal
  /** What was made for this sitting alone. */
  readonly giveBack: () => Promise<void>
}

async function findTerminal(glovebox: Glovebox, { flags, argv, doing, seat, interrupts }: Asked): Promise<Found> {
  if (flags.sandbox === undefined) {
    if (flags.attach !== undefined) throw whichSandbox()
    const sandbox = await createRemoteSandbox(flags, doing, interrupts.signal)
    const terminal = await sandbox.shells.open({ pty: seat.size, ...programOf(argv) })
    return { sandboxId: sandbox.id, terminal, giveBack: () => sandbox.kill() }
  }
  refuseLocal(flags, ofNewSandboxes)
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

const ofNewSandboxes = ['--backend', '--mount', '--net', '--memory', '--cpus', '--pids', '--policy', '--vaults']

const placeOf = ({ cwd, env }: ShellFlags) => ({
  ...(cwd === undefined ? {} : { cwd }),
  ...(env === undefined ? {} : { env }),
})

interface Staying {
  readonly sandboxId: string
  readonly shellId: string
  readonly asked: Asked
}

/** Over as many connections as it takes, every byte once. */
async function stay(
  glovebox: Glovebox,
  { sandboxId, shellId, asked: { seat, interrupts } }: Staying,
): Promise<{ readonly outcome: Outcome; readonly end: TerminalEnd | undefined }> {
  let from: number | undefined
  for (let failures = 0; ;) {
    let attachment: Attachment | undefined
    try {
      const at = from === undefined ? {} : { from }
      attachment = await glovebox.terminals.attach(sandboxId, shellId, { ...at, openSocket: await socketOpener() })
      const onShown = (offset: number): void => {
        from = offset
        failures = 0
      }
      const outcome = await sit(seat, attachment, { signal: interrupts.signal, canDetach: true, onShown })
      return {
        outcome: outcome === 'interrupted' && interrupts.received === 'SIGHUP' ? 'detached' : outcome,
        end: attachment.ended,
      }
    } catch (error) {
      const isBroken = isGloveboxError(error) && error.code === 'SERVER_UNREACHABLE'
      const pauseMs = isBroken ? pausesMs[failures] : undefined
      if (pauseMs === undefined) throw error
      failures += 1
      await delay(pauseMs, undefined, { signal: interrupts.signal }).catch(() => {})
    } finally {
      attachment?.close()
    }
  }
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

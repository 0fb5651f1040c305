// The operator's own terminal, for as long as a guest is shown on it: every key goes to the guest, and everything the guest may show
// goes to the screen. Given back as it was, also when we fail.
import { setTimeout as delay } from 'node:timers/promises'
import { customarySize, isTerminalSize, type TerminalSize } from '../../contract/terminal.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Sink } from '../sink.ts'
import { createGuard } from './guard.ts'

export interface Seat {
  readonly size: TerminalSize
  /** What was typed before comes first. */
  onKeys(take: (bytes: Uint8Array) => void): void
  onResize(take: (size: TerminalSize) => void): void
  /** Settles when the screen has taken it. */
  show(bytes: Uint8Array): Promise<void>
  /** Begins with an empty screen. */
  clear(): Promise<void>
  leave(): Promise<void>
}

const emptyScreen = '\u001b[!p\u001b[H\u001b[2J'
const interruptKey = 0x03
const mostAhead = 256
/** A terminal answers questions of the guest's within this; later answers would be typed into the operator's shell. */
const lastAnswersMs = 50

export function takeSeat(out: Sink): Seat {
  const { stdin, stdout } = process
  if (!stdin.isTTY || !out.isTerminal) throw noTerminal()
  const guard = createGuard()
  const sizeNow = (): TerminalSize => {
    const size = { cols: stdout.columns, rows: stdout.rows }
    return isTerminalSize(size) ? size : customarySize
  }
  let takeKeys: ((bytes: Uint8Array) => void) | undefined
  const typedAhead: Buffer[] = []
  const sizeTakers = new Set<(size: TerminalSize) => void>()
  const onData = (bytes: Buffer): void => {
    if (takeKeys !== undefined) return takeKeys(bytes)
    // Nobody is there yet to whom Ctrl-C could be typed, so it means what it means elsewhere.
    if (bytes.includes(interruptKey)) process.kill(process.pid, 'SIGINT')
    else if (typedAhead.length < mostAhead) typedAhead.push(bytes)
  }
  const onResize = (): void => {
    for (const take of sizeTakers) take(sizeNow())
  }
  stdin.setRawMode(true)
  stdin.on('data', onData)
  stdin.resume()
  stdout.on('resize', onResize)
  return {
    get size() {
      return sizeNow()
    },
    onKeys(take) {
      takeKeys = take
      for (const bytes of typedAhead.splice(0)) take(bytes)
    },
    onResize: (take) => void sizeTakers.add(take),
    show: (bytes) => out.write(guard.pass(bytes)),
    async clear() {
      await out.write(`${guard.farewell()}${emptyScreen}`)
    },
    async leave() {
      takeKeys = () => {}
      sizeTakers.clear()
      await out.write(guard.farewell())
      await delay(lastAnswersMs)
      stdin.setRawMode(false)
      stdin.off('data', onData)
      stdin.pause()
      stdout.off('resize', onResize)
    },
  }
}

const noTerminal = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot open a shell: this is no terminal', {
    hint: 'Run it in a terminal, without pipes; or use `glovebox exec` for a single command.',
  })

// A person at a terminal of a sandbox, until the program ends, the person leaves, or a signal comes.
import type { TerminalChunk } from '../../contract/shell.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import { createKeys, keysHelp } from './keys.ts'
import type { Seat } from './seat.ts'

/** A terminal, near or far. */
export interface Line {
  readonly chunks: AsyncIterable<TerminalChunk>
  write(bytes: Uint8Array): void
  resize(size: TerminalSize): void
}

export interface Sitting {
  /** Ends it from outside. */
  readonly signal: AbortSignal
  /** Whether the terminal goes on without us. */
  readonly canDetach: boolean
  /** Behind the last byte that was shown. */
  readonly onShown?: (offset: number) => void
}

export type Outcome = 'ended' | 'detached' | 'interrupted'

export async function sit(seat: Seat, line: Line, { signal, canDetach, onShown }: Sitting): Promise<Outcome> {
  const leaving = new Promise<Outcome>((resolve) => {
    if (signal.aborted) resolve('interrupted')
    signal.addEventListener('abort', () => resolve('interrupted'), { once: true })
    seat.onKeys(canDetach ? withOwnKeys(line, seat, () => resolve('detached')) : (bytes) => line.write(bytes))
  })
  seat.onResize((size) => line.resize(size))
  const showing = show(seat, line, onShown)
  showing.catch(() => {})
  return Promise.race([leaving, showing])
}

async function show(seat: Seat, line: Line, onShown: Sitting['onShown']): Promise<Outcome> {
  for await (const { offset, bytes, redraws } of line.chunks) {
    if (redraws === true) await seat.clear()
    await seat.show(bytes)
    onShown?.(redraws === true ? offset : offset + bytes.length)
  }
  return 'ended'
}

function withOwnKeys(line: Line, seat: Seat, detach: () => void): (bytes: Uint8Array) => void {
  const keys = createKeys()
  return (typed) => {
    const { bytes, wish } = keys.take(typed)
    if (bytes.length > 0) line.write(bytes)
    if (wish === 'detach') detach()
    // At the foot of the screen, and the cursor stays where the program believes it to be.
    if (wish === 'help') void seat.show(Buffer.from(`\u001b7\u001b[999;1H\u001b[7m ${keysHelp} \u001b[0m\u001b8`))
  }
}

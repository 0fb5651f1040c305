// A terminal of a sandbox: a program on a pseudo-terminal, which any number of readers follow from any offset, each at its own pace.
// It promises that no reader holds up the program or another reader, and that whoever comes back sees what it missed, or the screen as
// it stands. It never answers for a person: what a program asks of its terminal is answered by whoever shows it.
import type { Readable } from 'node:stream'
import type { Process, ProcessExit } from '../../contract/backend.ts'
import type { ShellId } from '../../contract/ids.ts'
import type { ShellInfo, Terminal, TerminalChunk, TerminalEnd } from '../../contract/shell.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openDisplay, type Display } from './display.ts'

export interface TerminalParts {
  readonly id: ShellId
  readonly cwd: string
  readonly size: TerminalSize
  /** It was started with a terminal of that size. */
  readonly child: Process
  /** How an end is told. Throws where nothing has run; `said` is what was said of it, for the operator. */
  readonly conclude: (exit: ProcessExit, said: string) => TerminalEnd
  /** Nobody has it any more. */
  readonly onClosed: () => void
}

const chunkBytes = 16 * 1024
const mostWaitingBytes = 1024 * 1024

export function liveTerminal({ id, cwd, size, child, conclude, onClosed }: TerminalParts): Terminal {
  const display = openDisplay({ size })
  const openedAt = new Date().toISOString()
  const turns = openTurns()
  let waitingBytes = 0
  let status: ShellInfo['status'] = 'busy'

  const follow = async (): Promise<TerminalEnd> => {
    const said = head(child.stderr)
    await drain(child, display, turns.next)
    try {
      return conclude(await child.exit, await said)
    } finally {
      status = 'closed'
      turns.next()
    }
  }
  const ended = follow()
  ended.catch(() => {})
  const close = async (): Promise<void> => {
    child.kill()
    await ended.catch(() => {})
    display.close()
    onClosed()
  }

  return {
    id,
    kind: 'terminal',
    ended,
    inspect: async () => ({ id, kind: 'terminal', status, openedAt, cwd, commands: 0, queued: 0, size: display.size }),
    write: async (given) => {
      const bytes = typeof given === 'string' ? Buffer.from(given) : given
      const { stdin } = child
      if (status === 'closed' || stdin === null || stdin.destroyed) throw closed('write to')
      if (waitingBytes + bytes.length > mostWaitingBytes) throw full()
      waitingBytes += bytes.length
      await new Promise<void>((resolve) => {
        stdin.once('close', resolve)
        stdin.write(bytes, () => {
          stdin.off('close', resolve)
          resolve()
        })
      })
      waitingBytes -= bytes.length
    },
    async resize(to) {
      if (status === 'closed') return
      child.resize?.(to)
      display.resize(to)
    },
    read: ({ from = 0, signal } = {}) => read(display, from, { signal, turns, isOver: () => status === 'closed' }),
    screen: () => display.screen(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** To the end of the output, however the process goes. */
async function drain(child: Process, display: Display, onMore: () => void): Promise<void> {
  try {
    for await (const chunk of child.stdout as AsyncIterable<Uint8Array>) {
      await display.append(chunk)
      onMore()
    }
  } catch {
    // A terminal that breaks while its program is killed is no fault of its own: what arrived has been kept.
  }
}

const mostSaid = 4096

async function head(stream: Readable): Promise<string> {
  let text = ''
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>)
      if (text.length < mostSaid) text += chunk.toString('utf8')
  } catch {
    // As above.
  }
  return text.trim()
}

interface Turns {
  /** Wakes all that wait. */
  readonly next: () => void
  /** Settles with the next turn, or with the signal. */
  wait(signal: AbortSignal | undefined): Promise<void>
}

function openTurns(): Turns {
  const waiting = new Set<() => void>()
  return {
    next() {
      for (const wake of waiting) wake()
    },
    wait: (signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          waiting.delete(wake)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        if (signal?.aborted === true) return resolve()
        waiting.add(wake)
        signal?.addEventListener('abort', wake, { once: true })
      }),
  }
}

interface Reading {
  readonly signal: AbortSignal | undefined
  readonly turns: Turns
  readonly isOver: () => boolean
}

async function* read(display: Display, from: number, reading: Reading): AsyncGenerator<TerminalChunk> {
  const { history } = display
  const { signal, turns, isOver } = reading
  requireOffset(from, history.end)
  let at = from
  while (signal?.aborted !== true) {
    if (at < history.first) {
      const { offset, bytes } = await display.screen()
      yield { offset, bytes, redraws: true }
      at = offset
    } else if (at < history.end) {
      const bytes = history.slice(at, chunkBytes)
      yield { offset: at, bytes }
      at += bytes.length
    } else if (isOver()) return
    else await turns.wait(signal)
  }
}

function requireOffset(from: number, end: number): void {
  if (Number.isSafeInteger(from) && from >= 0 && from <= end) return
  throw new GloveboxError('INVALID_CURSOR', 'Cannot read the terminal from there: it has not written so much', {
    facts: { from, end },
  })
}

const closed = (doing: string): GloveboxError =>
  new GloveboxError('SHELL_CLOSED', `Cannot ${doing} the terminal: its program has ended`)

const full = (): GloveboxError =>
  new GloveboxError('BUSY', 'Cannot write to the terminal now: its program reads nothing, and too much waits already', {
    hint: 'Write less at a time, or see what the program waits for.',
  })

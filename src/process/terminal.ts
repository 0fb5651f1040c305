// A pseudo-terminal: two descriptors, of which the child gets one and we keep the other. Nothing is started here, so that a
// boundary's own launcher can hand the child's end on like any other descriptor. The native part of node-pty makes the pair; it is
// optional, and whoever asks for a terminal without it is told.
import { closeSync, readSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Readable, Writable } from 'node:stream'
import { ReadStream } from 'node:tty'
import { isTerminalSize, largestSize, type TerminalSize } from '../contract/terminal.ts'
import { GloveboxError } from '../errors/error.ts'
import { loadCloseOnExec } from './descriptors.ts'

export interface Terminal {
  /** For the child. SECURITY: it is not the operator's terminal, and must become the child's controlling one in a session of its own.
   * test/attacks/terminals: "a guest on a terminal has a session of its own" */
  readonly childEnd: number
  /** The child's end by name, on the host. */
  readonly path: string
  /** Ends when nobody has the child's end any more. */
  readonly output: Readable
  readonly input: Writable
  resize(size: TerminalSize): void
  /** Once the child has it. Until then nobody would notice the child's end. */
  releaseChildEnd(): void
  close(): void
}

interface NativePart {
  open(cols: number, rows: number): { readonly master: number; readonly slave: number; readonly pty: string }
  resize(descriptor: number, cols: number, rows: number): void
}

export function openTerminal(size: TerminalSize): Terminal {
  requireSize(size)
  const native = loadNativePart()
  const { master, slave, pty } = native.open(size.cols, size.rows)
  // Our own children have only what they are given; others that the program starts meanwhile would inherit both.
  const closeOnExec = loadCloseOnExec()
  for (const descriptor of [master, slave]) closeOnExec?.(descriptor)
  const source = new ReadStream(master)
  let isOpen = true
  let hasChildEnd = true
  const releaseChildEnd = (): void => {
    if (hasChildEnd) closeSync(slave)
    hasChildEnd = false
  }
  const output = outputOf(source, master)
  const input = inputOf(master, () => isOpen)
  // A read that finds no child's end open any more fails with EIO: that is how a terminal ends.
  const close = (): void => {
    isOpen = false
    releaseChildEnd()
    source.destroy()
    input.destroy()
  }
  source.once('error', close)
  source.once('close', close)
  return {
    childEnd: slave,
    path: pty,
    output,
    input,
    resize: (next) => {
      requireSize(next)
      if (isOpen) native.resize(master, next.cols, next.rows)
    },
    releaseChildEnd,
    close,
  }
}

export function requireSize(size: TerminalSize): void {
  if (isTerminalSize(size)) return
  throw new GloveboxError('INVALID_INPUT', 'Cannot use the size of the terminal: it is no size that a terminal has', {
    hint: `Give 1 to ${largestSize.cols} columns and 1 to ${largestSize.rows} rows.`,
  })
}

function outputOf(source: ReadStream, descriptor: number): Readable {
  const output = new Readable({
    read: () => void source.resume(),
    destroy(error, done) {
      source.destroy()
      done(error)
    },
  })
  source.on('data', (chunk: Buffer) => {
    if (!output.push(chunk)) source.pause()
  })
  source.once('end', () => {
    for (const chunk of restOf(descriptor)) output.push(chunk)
  })
  source.once('close', () => output.push(null))
  return output
}

const restBytes = 64 * 1024

/**
 * The event loop takes a hang-up behind a short read for the end, as it is with pipes; a terminal gives what it still has in pieces.
 * The descriptor is open until this turn is over, and never blocks.
 */
function* restOf(descriptor: number): Generator<Buffer> {
  for (;;) {
    const chunk = Buffer.allocUnsafe(restBytes)
    let length = 0
    try {
      length = readSync(descriptor, chunk)
    } catch {
      // EIO: nobody has the child's end any more, and all has been read.
    }
    if (length === 0) return
    yield chunk.subarray(0, length)
  }
}

const shortestPauseMs = 1
const longestPauseMs = 50

/**
 * The descriptor never blocks, and is written to only here and now: a write that another thread performs later could meet
 * a file that has got the number since. A program that does not read is asked again, ever less often.
 */
function inputOf(descriptor: number, isOpen: () => boolean): Writable {
  let waiting: NodeJS.Timeout | undefined
  const put = (bytes: Buffer, pauseMs: number, done: (error?: Error | null) => void): void => {
    if (!isOpen()) return done()
    try {
      const rest = bytes.subarray(writeSync(descriptor, bytes))
      if (rest.length === 0) return done()
      put(rest, shortestPauseMs, done)
    } catch (error) {
      if (!isFull(error)) return done()
      waiting = setTimeout(() => put(bytes, Math.min(pauseMs * 2, longestPauseMs), done), pauseMs)
    }
  }
  return new Writable({
    decodeStrings: true,
    write: (chunk: Buffer, _encoding, done) => put(chunk, shortestPauseMs, done),
    destroy(error, done) {
      clearTimeout(waiting)
      done(error)
    },
  })
}

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN'

function loadNativePart(): NativePart {
  try {
    // The package has one for each platform, which only it can be sure to find.
    const require = createRequire(createRequire(import.meta.url).resolve('@lydell/node-pty'))
    return require(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`) as NativePart
  } catch (error) {
    throw new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot open a terminal: the optional package node-pty is missing', {
      hint: 'Install it beside Glovebox: npm install @lydell/node-pty',
      operatorDetail: error instanceof Error ? error.message : String(error),
    })
  }
}

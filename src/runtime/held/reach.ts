// The other end: somebody who sits at a shell that another process holds, or who ends it.
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { TerminalChunk, TerminalEnd } from '../../contract/shell.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { RenderedError } from '../../errors/render.ts'
import { chunkIn, frame, framesOf, jsonFrame, type Frame } from './frames.ts'
import { openSocketPlace } from './place.ts'

export interface HeldLine {
  readonly sandbox: string
  readonly shell: string
  /** To the end of the program; throws where the shell is lost. */
  readonly chunks: AsyncIterable<TerminalChunk>
  /** Known when the chunks are over. */
  readonly ended: TerminalEnd | undefined
  write(bytes: Uint8Array): void
  resize(size: TerminalSize): void
  /** The shell goes on. */
  leave(): Promise<void>
  /** The shell ends. Settles when nothing of it is left. */
  end(): Promise<void>
  close(): void
}

export interface Reaching {
  readonly size: TerminalSize
  /** Default: the screen as it stands. */
  readonly from?: number
  readonly signal: AbortSignal
}

export async function reachHeld(id: string, { size, from, signal }: Reaching): Promise<HeldLine> {
  const socket = await dial(id)
  const hangUp = (): void => void socket.destroy()
  signal.addEventListener('abort', hangUp, { once: true })
  try {
    socket.write(jsonFrame('hello', { ...size, ...(from === undefined ? {} : { from }) }))
    const frames = framesOf(socket)
    const first = (await frames.next().catch(() => undefined))?.value as Frame | undefined
    if (signal.aborted) throw cancelled()
    if (first === undefined) throw lost()
    if (first.kind === 'error') throw errorIn(first)
    return lineOver(socket, frames, parsed<{ readonly sandbox: string; readonly shell: string }>(first))
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', hangUp)
  }
}

function lineOver(socket: Socket, frames: AsyncGenerator<Frame>, names: Pick<HeldLine, 'sandbox' | 'shell'>): HeldLine {
  let ended: TerminalEnd | undefined
  const chunks = async function* (): AsyncGenerator<TerminalChunk> {
    for (;;) {
      const one = (await frames.next().catch(() => undefined))?.value as Frame | undefined
      if (one === undefined) throw lost()
      if (one.kind === 'output') yield chunkIn(one)
      else if (one.kind === 'screen') yield { ...chunkIn(one), redraws: true }
      else if (one.kind === 'error') throw errorIn(one)
      else if (one.kind === 'ended') {
        ended = parsed<TerminalEnd>(one)
        return
      }
    }
  }
  return {
    ...names,
    chunks: chunks(),
    get ended() {
      return ended
    },
    write: (bytes) => void socket.write(frame('input', bytes)),
    resize: (size) => void socket.write(jsonFrame('resize', size)),
    leave: () => lastWord(socket, frame('leave')),
    async end() {
      if (ended === undefined) socket.write(frame('end'))
      await isClosed(socket)
    },
    close: () => void socket.destroy(),
  }
}

/** Settles when nothing of it is left. */
export async function endHeld(id: string): Promise<void> {
  const socket = await dial(id)
  socket.write(frame('end'))
  await isClosed(socket)
}

/** A container may take its time to end. */
const endMs = 20_000

async function isClosed(socket: Socket): Promise<void> {
  socket.resume()
  if (!socket.closed) await Promise.race([once(socket, 'close'), delay(endMs, undefined, { ref: false })])
  socket.destroy()
}

/** What has been handed to the kernel is delivered, also when we are gone. */
function lastWord(socket: Socket, word: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
    socket.write(word, () => {
      socket.destroy()
      resolve()
    })
  })
}

async function dial(id: string): Promise<Socket> {
  const place = openSocketPlace(id)
  try {
    const socket = connect(place.path)
    await once(socket, 'connect')
    socket.on('error', () => {})
    return socket
  } catch (error) {
    throw lost(error)
  } finally {
    place.close()
  }
}

const parsed = <T>({ content }: Frame): T => JSON.parse(content.toString('utf8')) as T

/** As it was thrown over there. */
function errorIn(one: Frame): GloveboxError {
  const { code, message, hint, facts, detail } = parsed<RenderedError & { readonly detail?: string }>(one)
  return new GloveboxError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(facts === undefined ? {} : { facts }),
    ...(detail === undefined ? {} : { operatorDetail: detail }),
  })
}

const cancelled = (): GloveboxError =>
  new GloveboxError('CANCELLED', 'Cannot open the shell: it was cancelled before it began')

const lost = (cause?: unknown): GloveboxError =>
  new GloveboxError('SHELL_CLOSED', 'Cannot go on with the shell: the process that held it is gone', {
    hint: 'What ran in it has ended with it. `glovebox shell --list` shows the others.',
    ...(cause === undefined ? {} : { cause }),
  })

// A person's connection to a terminal on a server: one WebSocket for both ways. The token never goes with it: a ticket does, which is
// good once. When the connection breaks, the terminal goes on, and `attach` from the last offset goes on with it.
import type { TerminalChunk, TerminalEnd } from '../contract/shell.ts'
import type { TerminalSize } from '../contract/terminal.ts'
import { GloveboxError } from '../errors/error.ts'
import { errorInEvent } from './problem.ts'
import type { Server } from './server.ts'

/** What every platform's WebSocket has. */
export interface SocketLike {
  binaryType: string
  send(data: string | Uint8Array): void
  close(code?: number): void
  addEventListener(name: 'open' | 'message' | 'close' | 'error', listener: (event: never) => void): void
  /** Where the platform can be told to read no further. */
  pause?(): void
  resume?(): void
}

export type OpenSocket = (url: string, protocols: readonly string[], origin: string) => SocketLike

export interface Attachment {
  /** To the end of the program, or of the connection: then it throws SERVER_UNREACHABLE. */
  readonly chunks: AsyncIterable<TerminalChunk>
  /** How the program ended; undefined where the connection did. */
  readonly ended: TerminalEnd | undefined
  write(bytes: Uint8Array): void
  resize(size: TerminalSize): void
  /** Leaves; the terminal goes on. */
  close(): void
}

export interface AttachOptions {
  /** Default: the screen as it stands. */
  readonly from?: number
  readonly openSocket?: OpenSocket
}

const protocol = 'glovebox.terminal.v1'
const headBytes = 9
const mostWaitingBytes = 1024 * 1024
/** The server takes no longer messages. */
const mostMessageBytes = 48 * 1024

export async function attachTerminal(
  server: Server,
  shellPath: string,
  { from, openSocket = platformSocket }: AttachOptions,
): Promise<Attachment> {
  const doing = 'attach to the terminal'
  const asked = { method: 'POST', path: `${shellPath}/tickets`, doing } as const
  const { ticket } = await server.json<{ readonly ticket: string }>(asked)
  const query = from === undefined ? '' : `?from=${from}`
  const url = `${server.address.replace(/^http/, 'ws')}${shellPath}/attach${query}`
  const socket = openSocket(url, [protocol, `glovebox.ticket.${ticket}`], new URL(server.address).origin)
  socket.binaryType = 'arraybuffer'
  const inbox = openInbox(socket)
  await inbox.opened
  return {
    chunks: inbox.chunks(),
    get ended() {
      return inbox.ended
    },
    write(bytes) {
      for (let at = 0; at < bytes.length; at += mostMessageBytes) socket.send(bytes.subarray(at, at + mostMessageBytes))
    },
    resize: ({ cols, rows }) => socket.send(JSON.stringify({ type: 'resize', cols, rows })),
    close: () => socket.close(1000),
  }
}

interface Inbox {
  readonly opened: Promise<void>
  readonly ended: TerminalEnd | undefined
  chunks(): AsyncGenerator<TerminalChunk>
}

/** What has come and was not taken yet. Beyond a limit nothing more is read, where the platform can be told so. */
function openInbox(socket: SocketLike): Inbox {
  const waiting: TerminalChunk[] = []
  let waitingBytes = 0
  let ended: TerminalEnd | undefined
  let fault: GloveboxError | undefined
  let isOver = false
  let wake = (): void => {}
  const add = (chunk: TerminalChunk): void => {
    waiting.push(chunk)
    waitingBytes += chunk.bytes.length
    if (waitingBytes > mostWaitingBytes) socket.pause?.()
  }
  const take = (text: string): void => {
    const message = JSON.parse(text) as { readonly type: string } & TerminalEnd
    if (message.type === 'ended') ended = { ended: message.ended, exitCode: message.exitCode }
    else if (message.type === 'error') fault = errorInEvent(text)
  }
  const opened = new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('close', () => {
      isOver = true
      wake()
      reject(broken())
    })
    socket.addEventListener('error', () => {})
  })
  opened.catch(() => {})
  socket.addEventListener('message', ({ data }: { readonly data: unknown }) => {
    if (typeof data === 'string') take(data)
    else if (data instanceof ArrayBuffer) add(chunkOf(data))
    wake()
  })
  return {
    opened,
    get ended() {
      return ended
    },
    async *chunks() {
      for (;;) {
        const chunk = waiting.shift()
        if (chunk !== undefined) {
          waitingBytes -= chunk.bytes.length
          if (waitingBytes < mostWaitingBytes / 4) socket.resume?.()
          yield chunk
        } else if (fault !== undefined) throw fault
        else if (ended !== undefined) return
        else if (isOver) throw broken()
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

function chunkOf(data: ArrayBuffer): TerminalChunk {
  const view = new DataView(data)
  const chunk = { offset: Number(view.getBigUint64(1)), bytes: new Uint8Array(data, headBytes) }
  return view.getUint8(0) === 1 ? { ...chunk, redraws: true } : chunk
}

const broken = (): GloveboxError =>
  new GloveboxError('SERVER_UNREACHABLE', 'Cannot go on with the terminal: the connection to it broke', {
    hint: 'The terminal goes on without you. Attach to it again.',
  })

/** A browser says by itself where it comes from. */
function platformSocket(url: string, protocols: readonly string[]): SocketLike {
  const { WebSocket } = globalThis as { readonly WebSocket?: new (url: string, protocols: string[]) => SocketLike }
  if (WebSocket === undefined)
    throw new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot attach to the terminal: there is no WebSocket here', {
      hint: 'Give one as `openSocket`; or use `read` and `write`, which need none.',
    })
  return new WebSocket(url, [...protocols])
}

// A person's connection to a terminal on a server: one WebSocket for both ways. The token never goes with it: a ticket does, which is
// good once. When the connection breaks, the terminal goes on, and `attach` from the last offset goes on with it.
import type { TerminalChunk, TerminalEnd } from '../contract/shell.ts'
import type { TerminalSize } from '../contract/terminal.ts'
import { GloveboxError } from '../errors/error.ts'
import { openInbox } from './inbox.ts'
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
  /** Where it tells that the server has asked for a sign of life: then a connection that says nothing is given up. */
  on?(name: 'ping', listener: () => void): void
  /** Where it can end a connection that nobody answers on any more. */
  terminate?(): void
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
  /** Leaves, however far it is; the terminal goes on. */
  readonly signal?: AbortSignal
  readonly openSocket?: OpenSocket
}

const protocol = 'glovebox.terminal.v1'
/** The server takes no longer messages. */
const mostMessageBytes = 48 * 1024

export async function attachTerminal(
  server: Server,
  shellPath: string,
  { from, signal, openSocket = platformSocket }: AttachOptions,
): Promise<Attachment> {
  const doing = 'attach to the terminal'
  // One that nobody uses is worth nothing half a minute later.
  const asked = { method: 'POST', path: `${shellPath}/tickets`, repeatable: true, signal, doing } as const
  const { ticket } = await server.json<{ readonly ticket: string }>(asked)
  const query = from === undefined ? '' : `?from=${from}`
  const url = `${server.address.replace(/^http/, 'ws')}${shellPath}/attach${query}`
  const socket = openSocket(url, [protocol, `glovebox.ticket.${ticket}`], new URL(server.address).origin)
  socket.binaryType = 'arraybuffer'
  const inbox = openInbox(socket, { answerMs: server.answerMs, silentMs: server.silentMs, signal })
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

/** A browser says by itself where it comes from. */
function platformSocket(url: string, protocols: readonly string[]): SocketLike {
  const { WebSocket } = globalThis as { readonly WebSocket?: new (url: string, protocols: string[]) => SocketLike }
  if (WebSocket === undefined)
    throw new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot attach to the terminal: there is no WebSocket here', {
      hint: 'Give one as `openSocket`; or use `read` and `write`, which need none.',
    })
  return new WebSocket(url, [...protocols])
}

// A terminal over a WebSocket, protocol `glovebox.terminal.v1`. To the client: binary frames of one byte for the kind (0 output,
// 1 what draws the screen), eight for the offset, and the bytes; and texts `{"type":"ended"|"error", …}`. To the server: binary frames,
// which are typed, and texts `{"type":"resize","cols":…,"rows":…}`.
import { z } from 'zod'
import type { Terminal } from '../../contract/shell.ts'
import { GloveboxError } from '../../errors/error.ts'
import { sizeSchema } from './routes/shell-words.ts'
import type { Attached, RouteSocket } from './socket.ts'

const kinds = { output: 0, screen: 1 } as const
const headBytes = 9

const resizeSchema = z.strictObject({ type: z.literal('resize'), ...sizeSchema.shape })

export interface AttachOptions {
  /** Undefined: from the screen as it stands. */
  readonly from: number | undefined
  readonly onHeartbeat: () => void
}

export const attachTerminal = (terminal: Terminal, { from, onHeartbeat }: AttachOptions): Attached => ({
  onHeartbeat,
  async take(message) {
    if ('bytes' in message) return typed(terminal, message.bytes)
    const resize = resizeSchema.safeParse(parsed(message.text))
    if (!resize.success)
      throw new GloveboxError('INVALID_INPUT', 'Cannot take the message: it is no message of a terminal')
    await terminal.resize({ cols: resize.data.cols, rows: resize.data.rows })
  },
  async talk(socket) {
    await show(terminal, from, socket)
    if (!socket.signal.aborted) await socket.send(JSON.stringify({ type: 'ended', ...(await terminal.ended) }))
  },
})

async function show(terminal: Terminal, asked: number | undefined, { send, signal }: RouteSocket): Promise<void> {
  let from = asked
  if (from === undefined) {
    const { offset, bytes } = await terminal.screen()
    await send(frame('screen', offset, bytes))
    from = offset
  }
  for await (const { offset, bytes, redraws } of terminal.read({ from, signal }))
    await send(frame(redraws === true ? 'screen' : 'output', offset, bytes))
}

/** What is typed when the program has just ended is nobody's fault. */
async function typed(terminal: Terminal, bytes: Uint8Array): Promise<void> {
  try {
    await terminal.write(bytes)
  } catch (error) {
    if (!(error instanceof GloveboxError) || error.code !== 'SHELL_CLOSED') throw error
  }
}

function frame(kind: keyof typeof kinds, offset: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeUInt8(kinds[kind], 0)
  head.writeBigUInt64BE(BigInt(offset), 1)
  return Buffer.concat([head, bytes])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

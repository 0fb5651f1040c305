// A terminal on a server, with the library's shape: its output as events, its input by requests. Whoever types in it goes through a
// connection of its own instead (attach.ts), which costs no request for each key.
import type { ShellId } from '../contract/ids.ts'
import type { ShellInfo, Terminal, TerminalChunk, TerminalEnd } from '../contract/shell.ts'
import type { TerminalSize } from '../contract/terminal.ts'
import { fromBase64, toBase64 } from './base64.ts'
import { closeShell } from './close-shell.ts'
import { followEvents } from './follow.ts'
import type { Server } from './server.ts'
import type { ServerEvent } from './sse.ts'

/** The server takes no more at a time. */
const mostBytes = 48 * 1024
const longestWaitMs = 50_000

export function remoteTerminal(server: Server, root: string, id: ShellId): Terminal {
  const path = `${root}/${id}`
  const waitForEnd = async (): Promise<TerminalEnd> => {
    for (;;) {
      const query = { wait_ms: longestWaitMs }
      const asked = {
        method: 'GET',
        path: `${path}/end`,
        query,
        waitMs: longestWaitMs,
        doing: 'wait for the terminal',
      } as const
      const { end } = await server.json<{ readonly end: TerminalEnd | null }>(asked)
      if (end !== null) return end
    }
  }
  let ended: Promise<TerminalEnd> | undefined
  const close = (): Promise<void> => closeShell(server, path)
  return {
    id,
    kind: 'terminal',
    inspect: () => server.json<ShellInfo>({ method: 'GET', path, doing: 'look at the terminal' }),
    async write(given) {
      const bytes = typeof given === 'string' ? new TextEncoder().encode(given) : given
      for (let at = 0; at < bytes.length; at += mostBytes) {
        const base64 = toBase64(bytes.subarray(at, at + mostBytes))
        await server.json({ method: 'POST', path: `${path}/input`, json: { base64 }, doing: 'write to the terminal' })
      }
    },
    async resize({ cols, rows }) {
      const asked = {
        method: 'POST',
        path: `${path}/resize`,
        json: { cols, rows },
        doing: 'resize the terminal',
      } as const
      // Twice the same size is that size.
      await server.json({ ...asked, repeatable: true })
    },
    read: (options = {}) => read(server, `${path}/events`, options),
    async screen() {
      const asked = { method: 'GET', path: `${path}/screen`, doing: 'see the screen' } as const
      const { base64, ...screen } = await server.json<ScreenBody>(asked)
      return { ...screen, bytes: fromBase64(base64) }
    },
    /** Asked for when somebody wants to know. */
    get ended() {
      ended ??= waitForEnd()
      ended.catch(() => {})
      return ended
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface ScreenBody {
  readonly offset: number
  readonly size: TerminalSize
  readonly base64: string
}

async function* read(
  server: Server,
  path: string,
  { from = 0, signal }: { readonly from?: number; readonly signal?: AbortSignal },
): AsyncGenerator<TerminalChunk> {
  const isLast = ({ event }: ServerEvent): boolean => event === 'ended'
  const after = from === 0 ? undefined : String(from)
  for await (const event of followEvents(server, { path, doing: 'read the terminal', isLast, after, signal })) {
    if (isLast(event)) return
    const { offset, base64 } = JSON.parse(event.data) as { readonly offset: number; readonly base64: string }
    const chunk = { offset, bytes: fromBase64(base64) }
    yield event.event === 'screen' ? { ...chunk, redraws: true } : chunk
  }
}

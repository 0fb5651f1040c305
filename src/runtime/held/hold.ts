// The process that holds a shell: it owns the sandbox and the terminal, and serves whoever sits at it over a socket. Until somebody
// leaves it on purpose it ends with the connection of the one who opened it, however that ends; from then on it ends with its
// program, or when it is told to. It promises that nothing of it is left behind.
import { createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { Terminal } from '../../contract/shell.ts'
import { isTerminalSize, type TerminalSize } from '../../contract/terminal.ts'
import { renderForOperator } from '../../errors/render.ts'
import { chunkFrame, framesOf, jsonFrame, type Frame } from './frames.ts'
import { listHeld, openSocketPlace, removeNote, writeNote } from './place.ts'

export interface Held {
  readonly sandbox: Pick<Sandbox, 'id' | 'kill'>
  readonly terminal: Terminal
}

export interface Holding {
  /** As its opener calls it. */
  readonly id: string
  readonly directory: string
  readonly open: (size: TerminalSize) => Promise<Held>
  /** Somebody may come now. */
  readonly onReady: () => void
  /** Ends it from outside. */
  readonly signal: AbortSignal
}

/** Who has started us comes at once, or is gone. */
const firstVisitMs = 30_000
/** For those who have not yet been shown how it ended. */
const lastWordsMs = 30_000

export async function holdShell({ id, directory, open, onReady, signal }: Holding): Promise<void> {
  const visits = new Map<Socket, Promise<void>>()
  let opening: Promise<Held> | undefined
  let isKept = false
  let end = (): void => {}
  const ending = new Promise<void>((resolve) => (end = resolve))
  signal.addEventListener('abort', () => end(), { once: true })

  const opened = (size: TerminalSize): Promise<Held> => {
    opening ??= open(size).then((held) => {
      writeNote({ id, sandbox: held.sandbox.id, directory, openedAt: new Date().toISOString() })
      void held.terminal.ended
        .catch(() => {})
        .then(() => Promise.race([Promise.all(visits.values()), delay(lastWordsMs, undefined, { ref: false })]))
        .then(end)
      return held
    })
    return opening
  }
  const receive = (socket: Socket): void => {
    clearTimeout(waiting)
    socket.on('error', () => {})
    socket.once('close', () => {
      visits.delete(socket)
      if (visits.size === 0 && !isKept) end()
    })
    const visit = attend(socket, { id, opened, keep: () => (isKept = true), end })
    visits.set(
      socket,
      visit.catch((error: unknown) =>
        put(socket, jsonFrame('error', renderForOperator(error))).then(() => void socket.end()),
      ),
    )
  }

  listHeld()
  const place = openSocketPlace(id)
  const waiting = setTimeout(() => end(), firstVisitMs)
  const server = createServer(receive)
  try {
    await listen(server, place.path)
    onReady()
    await ending
  } finally {
    clearTimeout(waiting)
    server.close()
    const held = await opening?.catch(() => undefined)
    await held?.sandbox.kill()
    removeNote(id)
    place.close()
    // Now nothing is left, and whoever waits for that may know.
    for (const socket of visits.keys()) socket.destroy()
  }
}

async function listen(server: Server, path: string): Promise<void> {
  server.listen(path)
  await once(server, 'listening')
}

/** Settles when it is on its way, or nobody is there to read it. */
const put = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) return resolve()
    socket.write(bytes, () => resolve())
  })

interface Attending {
  readonly id: string
  readonly opened: (size: TerminalSize) => Promise<Held>
  readonly keep: () => void
  readonly end: () => void
}

/** One visitor, up to the last word: how the program ended. */
async function attend(socket: Socket, { id, opened, keep, end }: Attending): Promise<void> {
  const frames = framesOf(socket)
  const first = (await frames.next()).value as Frame | undefined
  if (first?.kind === 'end') return end()
  const { from, ...size } = first?.kind === 'hello' ? parsed<Hello>(first) : nobody
  if (!isTerminalSize(size)) return void socket.destroy()
  const { sandbox, terminal } = await opened(size)
  await put(socket, jsonFrame('open', { sandbox: sandbox.id, shell: id }))
  await terminal.resize(size)
  const isGone = new AbortController()
  socket.once('close', () => isGone.abort())
  if (socket.destroyed) isGone.abort()
  listenTo(frames, terminal, { keep, end }).catch(() => {})
  await show(socket, terminal, { from, signal: isGone.signal })
  if (!isGone.signal.aborted) await put(socket, jsonFrame('ended', await terminal.ended))
}

type Hello = TerminalSize & { readonly from?: number }
/** Has no size that a terminal has. */
const nobody: Hello = { cols: 0, rows: 0 }

async function listenTo(
  frames: AsyncGenerator<Frame>,
  terminal: Terminal,
  { keep, end }: Pick<Attending, 'keep' | 'end'>,
): Promise<void> {
  for await (const one of frames) {
    // What is typed while the program ends goes nowhere, and what is too much is not taken, as at any terminal.
    if (one.kind === 'input') void terminal.write(Buffer.from(one.content)).catch(() => {})
    else if (one.kind === 'resize') await terminal.resize(parsed<TerminalSize>(one)).catch(() => {})
    else if (one.kind === 'leave') keep()
    else if (one.kind === 'end') end()
  }
}

interface Showing {
  readonly from: number | undefined
  readonly signal: AbortSignal
}

async function show(socket: Socket, terminal: Terminal, { from, signal }: Showing): Promise<void> {
  let at = from
  if (at === undefined) {
    const { offset, bytes } = await terminal.screen()
    await put(socket, chunkFrame('screen', offset, bytes))
    at = offset
  }
  for await (const { offset, bytes, redraws } of terminal.read({ from: at, signal }))
    await put(socket, chunkFrame(redraws === true ? 'screen' : 'output', offset, bytes))
}

const parsed = <T>({ content }: Frame): T => JSON.parse(content.toString('utf8')) as T

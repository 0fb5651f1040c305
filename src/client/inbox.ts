// What comes over a terminal's connection, until that ends: with the program, with the server's last word, by a breach, by silence, or
// with the caller's signal.
import type { TerminalChunk, TerminalEnd } from '../contract/shell.ts'
import { GloveboxError } from '../errors/error.ts'
import type { SocketLike } from './attach.ts'
import { errorInEvent } from './problem.ts'

export interface Inbox {
  readonly opened: Promise<void>
  readonly ended: TerminalEnd | undefined
  chunks(): AsyncGenerator<TerminalChunk>
}

export interface InboxOptions {
  /** Until it is open. Zero: as long as it takes. */
  readonly answerMs: number
  /** From then on, where the platform tells that the server lives. */
  readonly silentMs: number
  readonly signal: AbortSignal | undefined
}

const headBytes = 9
const mostWaitingBytes = 1024 * 1024

/** What has come and was not taken yet. Beyond a limit nothing more is read, where the platform can be told so. */
export function openInbox(socket: SocketLike, { answerMs, silentMs, signal }: InboxOptions): Inbox {
  const waiting: TerminalChunk[] = []
  let waitingBytes = 0
  let isHeld = false
  let heardAt = performance.now()
  let ended: TerminalEnd | undefined
  let lastWord: GloveboxError | undefined
  let over: GloveboxError | undefined
  let wake = (): void => {}
  let settle: { readonly resolve: () => void; readonly reject: (why: GloveboxError) => void } | undefined

  const end = (why: GloveboxError): void => {
    if (over !== undefined) return
    over = why
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
    settle?.reject(why)
    wake()
  }
  /** Whoever says nothing does not say farewell either. */
  const cut = (why: GloveboxError): void => {
    end(why)
    if (socket.terminate === undefined) socket.close()
    else socket.terminate()
  }
  const leave = (): void => {
    end(new GloveboxError('CANCELLED', 'Cannot go on with the terminal: the caller left it'))
    socket.close(1000)
  }
  const hear = (): void => {
    heardAt = performance.now()
  }
  const watch = (): void => {
    // From one that is not read nothing can be heard.
    const leftMs = isHeld ? silentMs : heardAt + silentMs - performance.now()
    if (leftMs <= 0) cut(broken())
    else timer = setTimeout(watch, leftMs)
  }
  const add = (chunk: TerminalChunk): void => {
    waiting.push(chunk)
    waitingBytes += chunk.bytes.length
    if (waitingBytes <= mostWaitingBytes) return
    isHeld = true
    socket.pause?.()
  }
  const goOn = (): void => {
    if (!isHeld || waitingBytes >= mostWaitingBytes / 4) return
    isHeld = false
    hear()
    socket.resume?.()
  }
  const take = (data: unknown): void => {
    if (data instanceof ArrayBuffer) return add(chunkOf(data))
    const message = JSON.parse(String(data)) as { readonly type: string } & TerminalEnd
    if (message.type === 'ended') ended = { ended: message.ended, exitCode: message.exitCode }
    else if (message.type === 'error') lastWord = errorInEvent(String(data))
  }

  let timer = answerMs === 0 ? undefined : setTimeout(() => cut(late(answerMs)), answerMs)
  const opened = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject }
  })
  opened.catch(() => {})
  socket.addEventListener('open', () => {
    if (over !== undefined) return
    clearTimeout(timer)
    if (socket.on !== undefined) {
      socket.on('ping', hear)
      hear()
      watch()
    }
    settle?.resolve()
  })
  socket.addEventListener('close', () => end(broken()))
  socket.addEventListener('error', () => {})
  socket.addEventListener('message', ({ data }: { readonly data: unknown }) => {
    if (over !== undefined) return
    hear()
    try {
      take(data)
    } catch {
      cut(notOurs())
    }
    wake()
  })
  if (signal?.aborted === true) leave()
  else signal?.addEventListener('abort', leave, { once: true })

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
          goOn()
          yield chunk
        } else if (lastWord !== undefined) throw lastWord
        else if (ended !== undefined) return
        else if (over !== undefined) throw over
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

const comeBack = 'The terminal goes on without you. Attach to it again.'

const broken = (): GloveboxError =>
  new GloveboxError('SERVER_UNREACHABLE', 'Cannot go on with the terminal: the connection to it broke', {
    hint: comeBack,
  })

const late = (limitMs: number): GloveboxError =>
  new GloveboxError('SERVER_UNREACHABLE', `Cannot attach to the terminal: no answer came within ${limitMs} ms`, {
    hint: comeBack,
  })

const notOurs = (): GloveboxError =>
  new GloveboxError('UNEXPECTED_ANSWER', 'Cannot go on with the terminal: what came is no message of one', {
    hint: 'Check that the URL is that of a Glovebox server, and what stands between.',
  })

// What a command said, kept while it runs and after. A position is how many bytes of each output a reader has; from any
// position on, every kept byte is given exactly once. Beyond the limit nothing is kept, and the command is not held back. The limit is
// what policy says, or less: what is in memory already where there is no room for more.
import type { OutputShare } from './output-room.ts'

export type StreamName = 'stdout' | 'stderr'

export interface JournalPosition {
  readonly stdout: number
  readonly stderr: number
}

export interface JournalPart {
  readonly stream: StreamName
  readonly bytes: Uint8Array
  /** The position behind it. */
  readonly next: JournalPosition
}

export interface Journal {
  add(stream: StreamName, chunk: Uint8Array): void
  end(): void
  keptBytes(): number
  /** Somebody has what is kept in another form until then, and it counts for as long. */
  countUntil(over: Promise<unknown>): void
  /** So much of it is kept at the most. */
  limit(stream: StreamName): number
  /** All that is kept, as text. */
  text(stream: StreamName): string
  read(after: JournalPosition, signal: AbortSignal): AsyncGenerator<JournalPart>
}

const partBytes = 64 * 1024

interface Kept {
  /** Grows by doubling, up to the limit: many small chunks cost no more than a few large ones. */
  buffer: Buffer
  length: number
  /** Undefined until something is said. */
  limit: number | undefined
}

export type Limits = Readonly<Record<StreamName, number>>

/** The share counts what lies here until the command has ended and nobody reads any more. */
export function openJournal(limits: () => Limits, share: OutputShare): Journal {
  const kept: Record<StreamName, Kept> = {
    stdout: { buffer: Buffer.alloc(0), length: 0, limit: undefined },
    stderr: { buffer: Buffer.alloc(0), length: 0, limit: undefined },
  }
  const waiting = new Set<() => void>()
  let isOver = false
  /** The command is one of them. */
  let users = 1

  const keptBytes = (): number => kept.stdout.length + kept.stderr.length
  const enter = (): void => {
    users += 1
    // It may be let go of on its shelf, and lies in memory for its reader all the same.
    if (users === 1) share.hold(keptBytes())
  }
  const leave = (): void => {
    users -= 1
    if (users === 0) share.leave()
  }

  const wake = (): void => {
    for (const go of waiting) go()
    waiting.clear()
  }
  /** What the limit is from then on. Room is asked for as seldom as the buffer grows, so that a chunk costs no counting. */
  const grow = (each: Kept, limit: number, needed: number): number => {
    const { buffer, length } = each
    const more = Math.min(limit, Math.max(needed, buffer.length * 2, 4096)) - buffer.length
    const granted = share.take(more)
    if (granted > 0) {
      each.buffer = Buffer.alloc(buffer.length + granted)
      buffer.copy(each.buffer, 0, 0, length)
    }
    // For good: what room comes again does not fill the hole behind it.
    return granted < more ? each.buffer.length : limit
  }
  const partAfter = (at: JournalPosition): JournalPart | undefined => {
    for (const stream of ['stdout', 'stderr'] as const) {
      const { buffer, length } = kept[stream]
      const from = at[stream]
      if (from >= length) continue
      const end = wholeCharacters(buffer, { from, to: Math.min(length, from + partBytes), isOver })
      if (end === from) continue
      return { stream, bytes: Buffer.from(buffer.subarray(from, end)), next: { ...at, [stream]: end } }
    }
    return undefined
  }
  const news = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const go = (): void => {
        signal.removeEventListener('abort', go)
        waiting.delete(go)
        resolve()
      }
      if (isOver || signal.aborted) return go()
      waiting.add(go)
      signal.addEventListener('abort', go, { once: true })
    })

  return {
    add(stream, chunk) {
      const each = kept[stream]
      each.limit ??= limits()[stream]
      const wanted = each.length + Math.min(chunk.length, each.limit - each.length)
      if (wanted > each.buffer.length) each.limit = grow(each, each.limit, wanted)
      const taken = chunk.subarray(0, each.limit - each.length)
      each.buffer.set(taken, each.length)
      each.length += taken.length
      wake()
    },
    end() {
      isOver = true
      for (const each of [kept.stdout, kept.stderr]) each.buffer = Buffer.from(each.buffer.subarray(0, each.length))
      leave()
      wake()
    },
    keptBytes,
    countUntil(over) {
      enter()
      over.then(leave, leave)
    },
    limit: (stream) => kept[stream].limit ?? Infinity,
    text: (stream) => decode(kept[stream]),
    async *read(after, signal) {
      let at = after
      enter()
      try {
        while (!signal.aborted) {
          const wasOver = isOver
          const part = partAfter(at)
          if (part !== undefined) {
            at = part.next
            yield part
          } else if (wasOver) return
          else await news(signal)
        }
      } finally {
        leave()
      }
    },
  }
}

/** A character that the limit cut is left out; anything else that is no UTF-8 is shown as U+FFFD. */
const decode = ({ buffer, length }: Kept): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(buffer.subarray(0, length), { stream: true })

interface Slice {
  readonly from: number
  readonly to: number
  readonly isOver: boolean
}

/** A part ends where a character does, so that text stays text; at the very end there is nothing to wait for. */
function wholeCharacters(buffer: Buffer, { from, to, isOver }: Slice): number {
  for (let back = 1; back <= 3 && to - back >= from; back++) {
    const byte = buffer[to - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    if (needed <= back) return to
    return isOver && to - back === from ? to : to - back
  }
  return to
}

// Server-sent events from an asynchronous source. Nothing is buffered here: the next event is asked for when the reader has
// room, so a slow reader costs one event, and the source decides what waits behind it. While nothing comes, a heartbeat lets
// both ends notice that the other is gone. A reader that takes nothing, or that nothing reaches, is let go; it comes back with
// Last-Event-ID.
import type { Writable } from 'node:stream'
import { GloveboxError } from '../../errors/error.ts'
import type { EventSource, StreamedEvent } from './answer.ts'
import type { Delivery } from './deliveries.ts'
import type { Limits } from './limits.ts'
import { problemOf } from './problem.ts'

export interface StreamOptions {
  readonly limits: Pick<Limits, 'heartbeatMs' | 'stalledMs'>
  readonly requestId: string
  /** Asked at every heartbeat, and at least so often while events come. */
  readonly stillGood: () => Promise<boolean>
  readonly onEnd: () => void
  /** Of all that was written to the reader. Undefined where nobody can tell. */
  readonly delivery: () => Delivery | undefined
  /** Ends the connection as it is. */
  readonly cut: (why: GloveboxError) => void
  /** The server ends: so do its streams. */
  readonly signal: AbortSignal
}

/** The answer, from its head on. */
export type Outlet = Pick<Writable, 'write' | 'end' | 'once' | 'removeListener' | 'destroyed'>

/** What comes so soon behind the head goes out with it: most commands have ended by then, and each piece wakes the reader. */
const gatherMs = 2

/** The head is written already, or will be with the first piece. Settles when nothing more will be written. */
export async function streamEvents(source: EventSource, outlet: Outlet, options: StreamOptions): Promise<void> {
  const ended = new AbortController()
  const iterator = source(ended.signal)[Symbol.asyncIterator]()
  let pending: Promise<IteratorResult<StreamedEvent>> | undefined
  let checkedAt = performance.now()
  let stuckAtBytes: number | undefined
  let isSourceOver = false
  let isGreeted = false
  let over = false

  const end = (): void => {
    if (over) return
    over = true
    clearTimeout(greeting)
    outlet.removeListener('close', end)
    options.signal.removeEventListener('abort', endWithServer)
    if (!isSourceOver) {
      ended.abort(streamIsOver)
      void Promise.resolve(iterator.return?.()).catch(() => {})
    }
    options.onEnd()
  }
  const endWithServer = (): void => {
    end()
    outlet.end()
  }
  const letGo = (): void => {
    end()
    options.cut(new GloveboxError('SLOW_CONSUMER', 'Cannot go on: nothing arrives at the reader'))
  }
  /** What was written is still on its way, and none of it has arrived since the last look. */
  const isUnheard = (): boolean => {
    const { arrivedBytes, waitingBytes } = options.delivery() ?? { arrivedBytes: 0, waitingBytes: 0 }
    const before = stuckAtBytes
    stuckAtBytes = waitingBytes > 0 ? arrivedBytes : undefined
    return stuckAtBytes !== undefined && stuckAtBytes === before
  }

  /** What a reader hears before all else. */
  const greet = (): string => {
    const words = isGreeted ? '' : ': glovebox\n\n'
    isGreeted = true
    return words
  }

  const next = async (): Promise<string | undefined> => {
    if (performance.now() - checkedAt >= options.limits.heartbeatMs) {
      checkedAt = performance.now()
      if (!(await options.stillGood())) throw revoked()
      if (isUnheard()) letGo()
    }
    pending ??= iterator.next()
    const result = await firstOf(pending, options.limits.heartbeatMs, ended.signal)
    if (result === 'silence') return ': still here\n\n'
    pending = undefined
    if (result !== 'aborted' && result?.done === false) return format(result.value)
    isSourceOver = result !== 'aborted'
    return undefined
  }
  const nextOrProblem = async (): Promise<{ readonly text: string | undefined; readonly isLast: boolean }> => {
    try {
      const text = await next()
      return { text, isLast: text === undefined }
    } catch (error) {
      const data: unknown = JSON.parse(problemOf(error, options.requestId).text)
      return { text: format({ event: 'error', data }), isLast: true }
    }
  }
  /** A reader that takes nothing for too long is let go. */
  const hasRoom = (): Promise<void> =>
    new Promise((resolve) => {
      const stall = setTimeout(letGo, options.limits.stalledMs).unref()
      const goOn = (): void => {
        clearTimeout(stall)
        outlet.removeListener('drain', goOn)
        ended.signal.removeEventListener('abort', goOn)
        resolve()
      }
      outlet.once('drain', goOn)
      ended.signal.addEventListener('abort', goOn, { once: true })
    })

  const greeting = setTimeout(() => outlet.write(greet()), gatherMs)
  outlet.once('close', end)
  if (options.signal.aborted || outlet.destroyed) return endWithServer()
  options.signal.addEventListener('abort', endWithServer, { once: true })
  for (;;) {
    const { text, isLast } = await nextOrProblem()
    if (over) return
    clearTimeout(greeting)
    const piece = `${greet()}${text ?? ''}`
    if (isLast) {
      outlet.end(piece)
      return end()
    }
    if (!outlet.write(piece)) await hasRoom()
    if (over) return
  }
}

const streamIsOver = new DOMException('The stream is over', 'AbortError')

type First = IteratorResult<StreamedEvent> | 'silence' | 'aborted' | undefined

function firstOf(
  pending: Promise<IteratorResult<StreamedEvent>> | undefined,
  silenceMs: number,
  signal: AbortSignal,
): Promise<First> {
  return new Promise((resolve, reject) => {
    const stop = (): void => settle(() => resolve('aborted'))
    const timer = setTimeout(() => settle(() => resolve('silence')), silenceMs)
    const settle = (how: () => void): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      how()
    }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    pending?.then(
      (result) => settle(() => resolve(result)),
      (error: unknown) => settle(() => reject(error instanceof Error ? error : new Error(String(error)))),
    )
  })
}

/** JSON has no raw line break, so the data is one line. */
const format = ({ id, event, data }: StreamedEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

const revoked = (): GloveboxError =>
  new GloveboxError('TOKEN_REVOKED', 'Cannot go on: the token is no longer in force', { hint: 'Use another token.' })

/** `Last-Event-ID` where ids are numbers: begin behind it. */
export function afterEvent(header: string | undefined): number {
  if (header === undefined || header === '') return 0
  if (/^\d{1,15}$/.test(header)) return Number(header)
  throw new GloveboxError('INVALID_INPUT', 'Cannot go on from there: Last-Event-ID is no id of this stream')
}

// Server-sent events from an asynchronous source. Nothing is buffered here: the next event is asked for when the reader has
// room, so a slow reader costs one event, and the source decides what waits behind it. While nothing comes, a heartbeat lets
// both ends notice that the other is gone. A reader that takes nothing, or that nothing reaches, is let go; it comes back with
// Last-Event-ID.
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

export function streamEvents(source: EventSource, options: StreamOptions): ReadableStream<Uint8Array> {
  const ended = new AbortController()
  const encoder = new TextEncoder()
  let iterator: AsyncIterator<StreamedEvent> | undefined
  let pending: Promise<IteratorResult<StreamedEvent>> | undefined
  let checkedAt = performance.now()
  let stall: NodeJS.Timeout | undefined
  let stuckAtBytes: number | undefined
  let over = false

  const end = (): void => {
    if (over) return
    over = true
    clearTimeout(stall)
    options.signal.removeEventListener('abort', endWithServer)
    ended.abort()
    void Promise.resolve(iterator?.return?.()).catch(() => {})
    options.onEnd()
  }
  let endWithServer = (): void => end()
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

  const next = async (): Promise<string | undefined> => {
    if (performance.now() - checkedAt >= options.limits.heartbeatMs) {
      checkedAt = performance.now()
      if (!(await options.stillGood())) throw revoked()
      if (isUnheard()) letGo()
    }
    pending ??= iterator?.next()
    const result = await firstOf(pending, options.limits.heartbeatMs, ended.signal)
    if (result === 'silence') return ': still here\n\n'
    pending = undefined
    return result === 'aborted' || result?.done !== false ? undefined : format(result.value)
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        iterator = source(ended.signal)[Symbol.asyncIterator]()
        endWithServer = () => {
          end()
          try {
            controller.close()
          } catch {
            // It had ended already.
          }
        }
        if (options.signal.aborted) return endWithServer()
        options.signal.addEventListener('abort', endWithServer, { once: true })
        controller.enqueue(encoder.encode(': glovebox\n\n'))
      },
      async pull(controller) {
        clearTimeout(stall)
        let text: string | undefined
        try {
          text = await next()
        } catch (error) {
          text = format({ event: 'error', data: JSON.parse(problemOf(error, options.requestId).text) })
          if (!over) controller.enqueue(encoder.encode(text))
          text = undefined
        }
        if (over) return
        if (text === undefined) {
          end()
          controller.close()
          return
        }
        controller.enqueue(encoder.encode(text))
        stall = setTimeout(letGo, options.limits.stalledMs)
        stall.unref()
      },
      cancel: end,
    },
    { highWaterMark: 1 },
  )
}

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

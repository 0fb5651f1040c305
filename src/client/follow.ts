// A stream of events, followed to its last one over as many connections as it takes. Each new connection begins behind the
// last event that was handed on, so nothing is missed and nothing comes twice. A connection that says nothing, not even that
// it lives, is given up; a server that cannot be reached is tried again for a while, and then the reader is told.
import { GloveboxError } from '../errors/error.ts'
import { pause } from './pause.ts'
import { errorInEvent } from './problem.ts'
import { type Failure, pauseMs } from './retry.ts'
import { type Asked, requireWanted, type Server } from './server.ts'
import { createEventParser, type ServerEvent } from './sse.ts'

export interface Followed extends Pick<Asked, 'path' | 'query' | 'doing' | 'signal'> {
  /** After it nothing comes. */
  readonly isLast: (event: ServerEvent) => boolean
  /** Asked when a connection ended before the last event: will there be none? */
  readonly isOver?: () => Promise<boolean>
  /** Begin behind the event of this id. */
  readonly after?: string | undefined
  /** A connection that is open already. Behind its events the others go on. */
  readonly first?: Response | undefined
}

export async function* followEvents(server: Server, followed: Followed): AsyncGenerator<ServerEvent, void> {
  const rules = { ...server.retry, retries: server.retry.reconnects }
  let after = followed.after
  let failures = 0
  let { first } = followed
  for (;;) {
    requireWanted(followed)
    let problem: Broken
    const connection = openConnection(server, followed, { after, first })
    first = undefined
    try {
      for (;;) {
        const next = await connection.next()
        if (next === 'over') return
        if ('failure' in next) {
          problem = next
          break
        }
        failures = 0
        after = next.event.id ?? after
        yield next.event
        if (followed.isLast(next.event)) return
      }
    } finally {
      connection.close()
    }
    requireWanted(followed)
    if (problem.endedEarly === true && (await followed.isOver?.()) === true) return
    const wait = pauseMs(problem.failure, failures, rules, Math.random())
    if (wait === undefined) throw problem.error
    failures += 1
    await pause(wait, followed.signal)
  }
}

interface Broken {
  readonly error: GloveboxError
  readonly failure: Failure
  /** The server closed the stream, and nothing broke. */
  readonly endedEarly?: boolean
}

interface Connection {
  /** `over`: there is nothing behind the last event that was read. */
  next(): Promise<{ readonly event: ServerEvent } | Broken | 'over'>
  close(): void
}

function openConnection(
  server: Server,
  followed: Followed,
  { after, first }: Pick<Followed, 'after' | 'first'>,
): Connection {
  const ended = new AbortController()
  const signal = followed.signal === undefined ? ended.signal : AbortSignal.any([ended.signal, followed.signal])
  const parser = createEventParser()
  const decoder = new TextDecoder()
  const waiting: ServerEvent[] = []
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  const begin = async (): Promise<Broken | 'over' | undefined> => {
    const { path, query, doing } = followed
    const headers = after === undefined ? {} : { 'last-event-id': after }
    const asked = { method: 'GET', path, query, doing, headers, accept: eventStream, signal } as const
    const opened = first === undefined ? await server.open(asked) : { value: first }
    if ('error' in opened) return opened
    if (opened.value.status === 204) return 'over'
    if (opened.value.body === null || !isEventStream(opened.value)) return notEvents(doing)
    reader = opened.value.body.getReader()
    return undefined
  }

  const more = async (): Promise<Broken | undefined> => {
    const got = await readWithin(reader, server.silentMs)
    if (typeof got === 'string') return cutOff(followed.doing, got)
    waiting.push(...parser.push(decoder.decode(got, { stream: true })))
    return undefined
  }

  return {
    async next() {
      try {
        for (;;) {
          const event = waiting.shift()
          if (event !== undefined) return brokenBy(event) ?? { event }
          const problem = reader === undefined ? await begin() : await more()
          if (problem !== undefined) return problem
        }
      } catch (error) {
        return asBroken(error, followed.doing)
      }
    },
    close() {
      ended.abort()
      void reader?.cancel().catch(() => {})
    },
  }
}

export const eventStream = 'text/event-stream'

const isEventStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith(eventStream) === true

const endedEarly = 'it ended early'

async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  silentMs: number,
): Promise<Uint8Array | typeof endedEarly | 'it was silent'> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<'it was silent'>((resolve) => {
    timer = setTimeout(() => resolve('it was silent'), silentMs)
  })
  try {
    const got = await Promise.race([reader?.read(), silence])
    if (typeof got === 'string') return got
    return got?.done === false ? got.value : endedEarly
  } finally {
    clearTimeout(timer)
  }
}

/** An error that passes ends the connection, and not the stream. */
function brokenBy({ event, data }: ServerEvent): Broken | undefined {
  const error = event === 'error' ? errorInEvent(data) : undefined
  if (error === undefined) return undefined
  const { http, retryable } = error.kind
  return { error, failure: { status: retryable ? 503 : http, retryable } }
}

function asBroken(error: unknown, doing: string): Broken {
  if (error instanceof GloveboxError) return { error, failure: { status: error.kind.http, retryable: false } }
  return cutOff(doing, error instanceof Error ? error.message : String(error))
}

const cutOff = (doing: string, detail: string): Broken => ({
  error: new GloveboxError('SERVER_UNREACHABLE', `Cannot ${doing}: the connection broke, and could not be made again`, {
    hint: 'What was begun goes on without a reader. Look again later.',
    operatorDetail: detail,
  }),
  failure: {},
  endedEarly: detail === endedEarly,
})

const notEvents = (doing: string): Broken => ({
  error: new GloveboxError('UNEXPECTED_ANSWER', `Cannot ${doing}: the answer is no stream of events`, {
    hint: 'Check that the URL is that of a Glovebox server, and what stands between.',
  }),
  failure: { status: 200 },
})

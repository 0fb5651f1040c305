// An answer as an HTTP response. Every response says that it must be neither kept nor guessed at.
import type { ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { itemsAtOnce, type Answer, type EventSource, type LongList } from './answer.ts'
import type { Problem } from './problem.ts'
import { problemType } from './problem.ts'
import { dispositionOf, rangeOf, type ByteRange } from './ranges.ts'

export interface Responding {
  /** Of every response: request id, CORS for an allowed page, `connection: close` while draining. */
  readonly headers: Readonly<Record<string, string>>
  readonly isHead: boolean
  /** At once. A body in a Response is a stream, which is read behind a timer: that takes longer than most of what is answered. */
  send(status: number, headers: Readonly<Record<string, string>>, text: string): Response
  /** Ends the connection as it is: the status is out, and what is missing shows. */
  cut(why: unknown): void
  /** When the answer is over, whoever ends it; at once if the caller left before it began. */
  whenOver(then: () => void): void
  /** Goes on behind the answer. Past the router, too: a web stream in between costs more than a short command. */
  sendEvents(headers: Readonly<Record<string, string>>, events: EventSource): Response
}

// SECURITY: what a guest wrote must never be run by a browser as a page of this server.
// test/e2e/server-transport: "every answer forbids caching, sniffing, framing and scripts"
const always: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function respond(answer: Answer, responding: Responding): Response {
  const common = { ...always, ...responding.headers }
  switch (answer.kind) {
    case 'json':
      return responding.send(
        answer.status,
        { ...common, 'content-type': 'application/json', ...answer.headers },
        JSON.stringify(answer.value),
      )
    case 'list': {
      const body = responding.isHead ? null : streamOf(longList(answer.list), responding)
      return new Response(body, { headers: { ...common, 'content-type': 'application/json' } })
    }
    case 'text':
      return new Response(answer.text, { status: answer.status, headers: { ...common, ...answer.headers } })
    case 'empty':
      return new Response(null, { status: answer.status, headers: { ...common, ...answer.headers } })
    case 'bytes':
      return respondBytes(answer, common, responding)
    case 'events': {
      const headers = { ...common, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no', ...answer.headers }
      return responding.isHead ? new Response(null, { headers }) : responding.sendEvents(headers, answer.events)
    }
  }
}

/** At once, past the router. */
export function sendProblem(
  outgoing: ServerResponse,
  problem: Problem,
  headers: Readonly<Record<string, string>>,
): void {
  outgoing.writeHead(problem.status, {
    ...always,
    ...headers,
    'content-type': problemType,
    ...problem.headers,
    'content-length': Buffer.byteLength(problem.text),
  })
  outgoing.end(problem.text)
}

export const respondProblem = (problem: Problem, headers: Readonly<Record<string, string>>): Response =>
  new Response(problem.text, {
    status: problem.status,
    headers: { ...always, ...headers, 'content-type': problemType, ...problem.headers },
  })

function respondBytes(
  { file, range: asked }: Extract<Answer, { readonly kind: 'bytes' }>,
  common: Readonly<Record<string, string>>,
  { isHead, ...going }: Pick<Responding, 'isHead' | 'cut' | 'whenOver'>,
): Response {
  const headers = {
    ...common,
    'content-type': 'application/octet-stream',
    'content-disposition': dispositionOf(file.name),
    'accept-ranges': 'bytes',
    ...(file.tag === undefined ? {} : { etag: `"${file.tag}"` }),
  }
  let range: ByteRange | undefined
  try {
    range = rangeOf(asked, file.sizeBytes)
  } catch (error) {
    file.close?.()
    throw error
  }
  const { start, end } = range ?? { start: 0, end: file.sizeBytes - 1 }
  const partial = range === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${file.sizeBytes}` }
  if (isHead) file.close?.()
  return new Response(isHead ? null : streamOf(file.read({ start, end }), going, () => file.close?.()), {
    status: range === undefined ? 200 : 206,
    headers: { ...headers, ...partial, 'content-length': String(end + 1 - start) },
  })
}

async function* longList({ about, name, items }: LongList): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(about).slice(0, -1)},${JSON.stringify(name)}:[`)
  for (let at = 0; at < items.length; at += itemsAtOnce) {
    const piece = JSON.stringify(items.slice(at, at + itemsAtOnce)).slice(1, -1)
    yield Buffer.from(`${at === 0 ? '' : ','}${piece}`)
    await turn()
  }
  yield Buffer.from(']}')
}

function streamOf(
  source: AsyncIterable<Uint8Array>,
  { cut, whenOver }: Pick<Responding, 'cut' | 'whenOver'>,
  release: () => void = () => {},
): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]()
  let isClosed = false
  const close = (): void => {
    if (!isClosed) release()
    isClosed = true
  }
  /** Behind a read that is under way: its descriptor must not be another file's by then. */
  const stop = async (): Promise<void> => {
    await iterator.return?.()
    close()
  }
  // Who reads the stream cancels it for a caller who leaves later, and not for one who has left.
  whenOver(() => void stop().catch(cut))
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await iterator.next()
        if (next.done !== true) return controller.enqueue(next.value)
        close()
        controller.close()
      } catch (error) {
        close()
        cut(error)
      }
    },
    cancel: stop,
  })
}

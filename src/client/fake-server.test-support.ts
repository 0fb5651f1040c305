// A fetch that answers from a list, and remembers what it was asked. For what must be seen without a network.

export interface SentRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export type Reply = Response | Error | ((request: SentRequest, signal: AbortSignal | undefined) => Promise<Response>)

export interface FakeServer {
  readonly fetch: typeof globalThis.fetch
  readonly sent: readonly SentRequest[]
}

/** The last reply is given again and again. */
export function fakeServer(...replies: readonly (() => Reply)[]): FakeServer {
  const sent: SentRequest[] = []
  return {
    sent,
    fetch: async (input, init = {}) => {
      const request: SentRequest = {
        method: init.method ?? 'GET',
        url: input instanceof Request ? input.url : input.toString(),
        headers: Object.fromEntries(new Headers(init.headers)),
        body: typeof init.body === 'string' ? init.body : undefined,
      }
      sent.push(request)
      const reply = (replies[Math.min(sent.length, replies.length) - 1] ?? replies.at(-1))?.()
      if (reply === undefined || reply instanceof Error) throw reply ?? new Error('nothing was to be asked')
      return typeof reply === 'function' ? reply(request, init.signal ?? undefined) : reply
    },
  }
}

export const jsonReply =
  (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}) =>
  (): Response =>
    new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json', ...headers } })

export const problemReply = (
  code: string,
  status: number,
  { retryable = false, headers = {} }: { readonly retryable?: boolean; readonly headers?: Record<string, string> } = {},
) =>
  jsonReply(
    {
      type: 'x',
      title: 'x',
      status,
      detail: 'd',
      error: { code, message: `Cannot: ${code}`, requestId: 'req_1', retryable, hint: 'Do.', facts: { a: 1 } },
    },
    status,
    { 'content-type': 'application/problem+json', ...headers },
  )

/** A body of events; `cut` ends it as a broken connection does. */
export const eventsReply =
  (text: string, { cut = false }: { readonly cut?: boolean } = {}) =>
  (): Response => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text))
        if (!cut) controller.close()
      },
      pull(controller) {
        if (cut) controller.error(new TypeError('terminated'))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

export const quick = { retries: 3, reconnects: 3, firstMs: 1, longestMs: 2000 }

import { describe, expect, it } from 'vitest'
import { eventsReply, fakeServer, problemReply, quick, type FakeServer } from './fake-server.test-support.ts'
import { type Followed, followEvents } from './follow.ts'
import { openServer } from './server.ts'

const follow = async (
  fake: FakeServer,
  { silentMs = 5000, ...options }: Partial<Followed> & { silentMs?: number } = {},
): Promise<readonly string[]> => {
  const server = openServer({ url: 'http://127.0.0.1:1', token: 't', fetch: fake.fetch, retry: quick, silentMs })
  const seen: string[] = []
  const isLast: Followed['isLast'] = ({ event }) => event === 'end'
  for await (const { data } of followEvents(server, { path: '/s', doing: 'follow it', isLast, ...options }))
    seen.push(data)
  return seen
}

const event = (id: number, data: string, kind = 'message') => `id: ${id}\nevent: ${kind}\ndata: ${data}\n\n`
const end = event(9, 'z', 'end')
const lastIds = (fake: FakeServer) => fake.sent.map(({ headers }) => headers['last-event-id'])

describe('a followed stream', () => {
  it('ends with its last event, without asking again', async () => {
    const fake = fakeServer(eventsReply(event(1, 'a') + end))
    expect(await follow(fake)).toEqual(['a', 'z'])
    expect(fake.sent).toHaveLength(1)
  })

  it('that is cut in the middle of an event goes on behind the last whole one', async () => {
    const fake = fakeServer(
      eventsReply(`${event(1, 'a')}id: 2\ndata: b`, { cut: true }),
      eventsReply(event(2, 'bb') + event(3, 'c'), { cut: true }),
      eventsReply(end),
    )
    expect(await follow(fake)).toEqual(['a', 'bb', 'c', 'z'])
    expect(lastIds(fake)).toEqual([undefined, '1', '3'])
  })

  it('that the server closes early is asked for again, and so is one that cannot be opened for a while', async () => {
    const fake = fakeServer(
      eventsReply(event(1, 'a')),
      () => new TypeError('fetch failed'),
      problemReply('DRAINING', 503, { retryable: true }),
      eventsReply(end),
    )
    expect(await follow(fake)).toEqual(['a', 'z'])
    expect(lastIds(fake)).toEqual([undefined, '1', '1', '1'])
  })

  it('goes on after an error that passes, and throws one that does not', async () => {
    const told = (code: string): string =>
      `event: error\ndata: ${JSON.stringify({ error: { code, message: `Cannot: ${code}`, retryable: false } })}\n\n`
    const slow = fakeServer(eventsReply(event(1, 'a') + told('SLOW_CONSUMER')), eventsReply(end))
    expect(await follow(slow)).toEqual(['a', 'z'])
    const revoked = fakeServer(eventsReply(event(1, 'a') + told('TOKEN_REVOKED')), eventsReply(end))
    await expect(follow(revoked)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    expect(revoked.sent).toHaveLength(1)
  })

  it('whose connection is silent is taken up again', async () => {
    const silent = () =>
      new Response(new ReadableStream({ start: () => undefined }), { headers: { 'content-type': 'text/event-stream' } })
    const fake = fakeServer(silent, eventsReply(end))
    expect(await follow(fake, { silentMs: 20 })).toEqual(['z'])
    expect(fake.sent).toHaveLength(2)
  })

  it('that never comes back is given up after the last retry, counted from the last event', async () => {
    const gone = () => new TypeError('fetch failed')
    const fake = fakeServer(gone, gone, eventsReply(event(1, 'a')), gone)
    await expect(follow(fake)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' })
    expect(fake.sent).toHaveLength(3 + quick.reconnects)
  })

  it('that is refused, or is no stream at all, is not asked for again', async () => {
    const refused = fakeServer(problemReply('NOT_FOUND', 404))
    await expect(follow(refused)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const page = fakeServer(() => new Response('<html>', { headers: { 'content-type': 'text/html' } }))
    await expect(follow(page)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
    expect([refused.sent.length, page.sent.length]).toEqual([1, 1])
  })

  it('begins behind the event that it is told of, and ends with its signal', async () => {
    const stop = new AbortController()
    const fake = fakeServer(() => async (_request, signal) => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          signal?.addEventListener('abort', () => controller.error(signal.reason))
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
    setTimeout(() => stop.abort(), 10)
    await expect(follow(fake, { after: '5', signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(lastIds(fake)).toEqual(['5'])
  })

  it('is left when its reader leaves, and its connection with it', async () => {
    let aborted = false
    const fake = fakeServer(() => async (_request, signal) => {
      signal?.addEventListener('abort', () => (aborted = true))
      return eventsReply(event(1, 'a') + event(2, 'b'))()
    })
    const server = openServer({ url: 'http://127.0.0.1:1', token: 't', fetch: fake.fetch, retry: quick })
    for await (const _ of followEvents(server, { path: '/s', doing: 'follow it', isLast: () => false })) break
    expect(aborted).toBe(true)
  })
})

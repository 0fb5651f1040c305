import { describe, expect, it } from 'vitest'
import { GloveboxError } from '../errors/error.ts'
import { fakeServer, jsonReply, problemReply, quick, type FakeServer } from './fake-server.test-support.ts'
import { type Asked, openServer, type ServerOptions } from './server.ts'

const token = 'gbx_not-a-real-one'

const over = (fake: FakeServer, options: Partial<ServerOptions> = {}) =>
  openServer({ url: 'http://127.0.0.1:4177', token, retry: quick, fetch: fake.fetch, ...options })

const reading: Asked = { method: 'GET', path: '/things', doing: 'read the things' }
const making: Asked = { method: 'POST', path: '/things', doing: 'make a thing', json: { a: 1 } }

const failing = async (promise: Promise<unknown>): Promise<GloveboxError> => {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(GloveboxError)
  return error as GloveboxError
}

const dropped = () => new TypeError('fetch failed', { cause: new Error('other side closed') })

describe('requests', () => {
  it('the token goes into the header and nowhere else', async () => {
    const fake = fakeServer(jsonReply({ ok: true }))
    expect(await over(fake).json(making)).toEqual({ ok: true })
    const [sent] = fake.sent
    expect(sent?.headers['authorization']).toBe(`Bearer ${token}`)
    expect(JSON.stringify({ ...sent, headers: { ...sent?.headers, authorization: '' } })).not.toContain(token)
    expect(sent).toMatchObject({ method: 'POST', url: 'http://127.0.0.1:4177/things', body: '{"a":1}' })
  })

  it('a query has what was given, and an address may have a path of its own', async () => {
    const fake = fakeServer(jsonReply([]))
    const query = { limit: 5, wait: false, task_id: 'a b', status: ['x', 'y'], none: undefined }
    await over(fake, { url: 'https://example.org/box/' }).json({ ...reading, query })
    expect(fake.sent[0]?.url).toBe('https://example.org/box/things?limit=5&wait=false&task_id=a+b&status=x&status=y')
  })

  it('what reads is sent again after a broken connection, and what changes something is not', async () => {
    const lucky = fakeServer(dropped, dropped, jsonReply(1))
    expect(await over(lucky).json(reading)).toBe(1)
    expect(lucky.sent).toHaveLength(3)

    const unlucky = fakeServer(dropped, jsonReply(1))
    const error = await failing(over(unlucky).json(making))
    expect(error).toMatchObject({ code: 'SERVER_UNREACHABLE', operatorDetail: 'other side closed' })
    expect(error.hint).toContain('Nobody can know')
    expect(unlucky.sent).toHaveLength(1)
  })

  it('a change is not sent again even where the server says that it could be', async () => {
    for (const reply of [
      problemReply('DRAINING', 503, { retryable: true }),
      problemReply('TOO_MANY_REQUESTS', 429, { retryable: true }),
    ]) {
      const fake = fakeServer(reply, jsonReply(1))
      await failing(over(fake).json(making))
      expect(fake.sent).toHaveLength(1)
    }
  })

  it('a change under a key is sent again under the same key', async () => {
    const fake = fakeServer(dropped, problemReply('DRAINING', 503, { retryable: true }), jsonReply(1))
    expect(await over(fake).json({ ...making, idempotencyKey: 'k1' })).toBe(1)
    expect(fake.sent.map(({ headers }) => headers['idempotency-key'])).toEqual(['k1', 'k1', 'k1'])
  })

  it('a reader that keeps failing is told after the last retry', async () => {
    const fake = fakeServer(dropped)
    expect(await failing(over(fake).json(reading))).toMatchObject({ code: 'SERVER_UNREACHABLE' })
    expect(fake.sent).toHaveLength(1 + quick.retries)
  })

  it('a deletion whose answer was lost is done, where its repetition finds nothing', async () => {
    const deleting: Asked = { method: 'DELETE', path: '/things/1', doing: 'delete the thing' }
    const missing = problemReply('NOT_FOUND', 404)
    const gateway = () => new Response('<html>', { status: 502 })
    for (const lost of [dropped, gateway]) expect(await over(fakeServer(lost, missing)).json(deleting)).toBe(undefined)
    const busy = problemReply('TOO_MANY_REQUESTS', 429, { retryable: true })
    for (const fake of [fakeServer(missing), fakeServer(busy, missing)])
      expect((await failing(over(fake).json(deleting))).code).toBe('NOT_FOUND')
    const reader = fakeServer(dropped, missing)
    expect((await failing(over(reader).json(reading))).code).toBe('NOT_FOUND')
  })

  it('Retry-After is waited for', async () => {
    const fake = fakeServer(
      problemReply('TOO_MANY_REQUESTS', 429, { retryable: true, headers: { 'retry-after': '1' } }),
      jsonReply(1),
    )
    const begun = performance.now()
    expect(await over(fake).json(reading)).toBe(1)
    expect(performance.now() - begun).toBeGreaterThan(950)
  })

  it('an answer that does not come in time is given up, and read again where that is safe', async () => {
    const never = () => (_: unknown, signal: AbortSignal | undefined) =>
      new Promise<Response>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      })
    const fake = fakeServer(never, jsonReply(1))
    expect(await over(fake, { answerMs: 20 }).json(reading)).toBe(1)
    const error = await failing(over(fakeServer(never), { answerMs: 20 }).json(making))
    expect(error.message).toBe('Cannot make a thing: no answer came within 20 ms')
  })

  it('a caller that cancels gets CANCELLED, and nothing more is sent', async () => {
    const stop = new AbortController()
    const fake = fakeServer(dropped)
    const waiting = over(fake, { retry: { retries: 9, reconnects: 9, firstMs: 60_000, longestMs: 60_000 } }).json({
      ...reading,
      signal: stop.signal,
    })
    setTimeout(() => stop.abort(), 10)
    expect(await failing(waiting)).toMatchObject({ code: 'CANCELLED' })
    expect(fake.sent).toHaveLength(1)
    expect(await failing(over(fake).json({ ...reading, signal: stop.signal }))).toMatchObject({ code: 'CANCELLED' })
    expect(fake.sent).toHaveLength(1)
  })
})

describe('refusals', () => {
  it('a problem becomes the error of the library, with code, message, hint and facts', async () => {
    const error = await failing(over(fakeServer(problemReply('NOT_FOUND', 404))).json(reading))
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'Cannot: NOT_FOUND',
      hint: 'Do.',
      facts: { a: 1 },
      operatorDetail: 'request req_1',
      kind: { http: 404 },
    })
  })

  it('a code that this client does not know is told, not guessed at', async () => {
    const error = await failing(over(fakeServer(problemReply('toString', 418))).json(reading))
    expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', message: 'Cannot: toString', facts: { code: 'toString' } })
  })

  it('a page of somebody else is no answer', async () => {
    const page = (status: number) => () => new Response('<html>Sign in</html>', { status })
    expect(await failing(over(fakeServer(page(200))).json(reading))).toMatchObject({ code: 'UNEXPECTED_ANSWER' })
    expect(await failing(over(fakeServer(page(404))).json(reading))).toMatchObject({ code: 'UNEXPECTED_ANSWER' })
    const gateway = fakeServer(page(502), jsonReply(1))
    expect(await over(gateway).json(reading)).toBe(1)
    expect(await failing(over(fakeServer(page(502))).json(reading))).toMatchObject({ code: 'SERVER_UNREACHABLE' })
  })
})

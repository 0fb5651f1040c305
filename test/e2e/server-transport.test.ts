// What happens below and around HTTP: hosts, origins, forms, smuggling, and those who speak too slowly.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type ServerGround } from './server-ground.ts'
import { sendRaw, statusOf } from './server-wire.ts'

let ground: ServerGround

beforeAll(async () => {
  ground = await startServer({ flags: ['--allow-origin', 'https://console.example'] })
})
afterAll(async () => {
  await ground.stop()
})

const raw = (text: string, { to = ground } = {}): Promise<string> => sendRaw(to, text)

const own = (): string => `Host: 127.0.0.1:${ground.port}\r\nAuthorization: Bearer ${ground.token}\r\n`
const end = 'Connection: close\r\n\r\n'

describe('the host', () => {
  it('a request for another host is refused before routing', async () => {
    const { call, port } = ground
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost',
      `localhost:${port + 1}`,
      `127.0.0.1.evil.example:${port}`,
      `localhost.:${port}`,
    ])
      for (const path of ['/sandboxes', '/healthz', '/docs', '/nowhere']) {
        const answer = await call('GET', path, { headers: { host } })
        expect([host, path, answer.status, codeOf(answer)]).toEqual([host, path, 403, 'HOST_NOT_ALLOWED'])
      }
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
      expect((await call('GET', '/healthz', { headers: { host } })).status).toBe(200)
  })

  it('is not taken from headers that a proxy would set', async () => {
    const { call, port } = ground
    const forwarded = { 'x-forwarded-host': `localhost:${port}`, forwarded: `host=localhost:${port}` }
    expect((await call('GET', '/healthz', { headers: { host: 'evil.example', ...forwarded } })).status).toBe(403)
    const disguised = { 'x-original-url': '/healthz', 'x-rewrite-url': '/healthz', 'x-http-method-override': 'DELETE' }
    expect((await call('GET', '/sandboxes', { token: null, headers: disguised })).status).toBe(401)
    expect((await call('GET', '/sandboxes', { headers: disguised })).status).toBe(200)
    expect(statusOf(await raw(`GET /healthz HTTP/1.1\r\n${end}`))).toBe(400)
  })

  it('what a proxy would set changes neither who asks, nor from where, nor for what', async () => {
    const { call, port } = ground
    const at = `/sandboxes/${String((await call('POST', '/sandboxes')).at('id'))}`
    const forwarded = {
      'x-forwarded-for': '203.0.113.7',
      'x-real-ip': '203.0.113.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-user': 'root',
    }
    const made = await call('POST', '/tokens', { body: { name: 'n', scopes: ['read'] }, headers: forwarded })
    expect([made.status, made.headers['location']]).toEqual([201, `/tokens/${String(made.at('id'))}`])
    // The scheme is not believed, so this page is another one than ours.
    const page = { ...forwarded, origin: `https://localhost:${port}` }
    expect(codeOf(await call('GET', '/sandboxes', { headers: page }))).toBe('ORIGIN_NOT_ALLOWED')
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override'])
      expect([name, (await call('GET', at, { headers: { [name]: 'DELETE' } })).at('id')]).toEqual([name, at.slice(11)])
    for (const name of ['x-original-url', 'x-rewrite-url']) {
      expect([name, (await call('GET', at, { headers: { [name]: '/tokens' } })).at('id')]).toEqual([name, at.slice(11)])
      expect([name, (await call('GET', '/nowhere', { headers: { [name]: at } })).status]).toEqual([name, 404])
    }
    expect((await call('GET', at)).status).toBe(200)
    await call('DELETE', at)
    expect(ground.log()).toContain('"address":"127.0.0.1"')
    expect(ground.log()).not.toContain('203.0.113.7')
  })
})

describe('an address that is none', () => {
  it('is told in our words, with an id that the caller can quote', async () => {
    const told = await raw(`GET http://[ HTTP/1.1\r\n${own()}${end}`)
    expect([statusOf(told), /"code":"(\w+)"/.exec(told)?.[1]]).toEqual([400, 'INVALID_INPUT'])
    const [, id] = /"requestId":"(req_[0-9a-f]{32})"/.exec(told) ?? []
    expect(id).toBeDefined()
    expect(told).toMatch(new RegExp(`^x-request-id: ${String(id)}\r$`, 'im'))
    const shown = async (): Promise<string> => (await ground.glovebox(['audit', 'show', '--json'])).stdout
    await expect.poll(shown).toContain(String(id))
  })
})

describe('the origin', () => {
  it('a page of another origin is refused and gets no CORS header', async () => {
    const { call, port } = ground
    const strangers = [
      'https://evil.example',
      'null',
      `http://localhost.evil:${port}`,
      `http://localhost:${port + 1}`,
      `https://localhost:${port}`,
      'https://console.example.evil.example',
    ]
    for (const origin of strangers)
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const answer = await call(method, '/sandboxes', {
          headers: { origin, 'access-control-request-method': 'POST' },
        })
        expect([origin, method, answer.status, codeOf(answer)]).toEqual([origin, method, 403, 'ORIGIN_NOT_ALLOWED'])
        expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      }
  })

  it('a page that the operator named may ask, and sees the answer', async () => {
    const origin = 'https://console.example'
    const headers = { origin, 'access-control-request-method': 'POST' }
    const asked = await ground.call('OPTIONS', '/sandboxes', { token: null, headers, isUndocumented: true })
    expect([asked.status, asked.headers['access-control-allow-origin']]).toEqual([204, origin])
    expect(asked.headers['access-control-allow-headers']).toContain('authorization')
    const answer = await ground.call('GET', '/sandboxes', { headers: { origin } })
    expect([answer.status, answer.headers['access-control-allow-origin'], answer.headers['vary']]).toEqual([
      200,
      origin,
      'origin',
    ])
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
  })

  it('what a browser sends for a foreign page without an Origin is refused too', async () => {
    for (const site of ['cross-site', 'same-site']) {
      const answer = await ground.call('GET', '/sandboxes', { headers: { 'sec-fetch-site': site } })
      expect([site, answer.status, codeOf(answer)]).toEqual([site, 403, 'ORIGIN_NOT_ALLOWED'])
    }
    expect((await ground.call('GET', '/sandboxes', { headers: { 'sec-fetch-site': 'same-origin' } })).status).toBe(200)
  })

  it('what a form can send is not read as JSON', async () => {
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json, text/plain',
      '',
    ]
    for (const type of types) {
      const answer = await ground.call('POST', '/sandboxes', { raw: '{}', headers: { 'content-type': type } })
      expect([type, answer.status, codeOf(answer)]).toEqual([type, 415, 'UNSUPPORTED_MEDIA_TYPE'])
    }
  })
})

describe('every answer', () => {
  it('every answer forbids caching, sniffing, framing and scripts', async () => {
    for (const [method, path] of [
      ['GET', '/sandboxes'],
      ['GET', '/healthz'],
      ['GET', '/nowhere'],
      ['POST', '/sandboxes'],
    ] as const) {
      const { headers } = await ground.call(method, path, method === 'POST' ? { raw: 'x' } : {})
      expect(headers['cache-control']).toBe('no-store')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/)
    }
    const page = await ground.call('GET', '/docs', { token: null })
    expect(page.status).toBe(200)
    expect(page.headers['content-security-policy']).toContain("default-src 'none'")
    expect(page.text).toContain('/sandboxes/{sandbox_id}/commands')
  })

  it('is ours where Node would answer by itself, too', async () => {
    const without = await raw(`GET /healthz HTTP/1.1\r\n${end}`)
    expect([statusOf(without), without]).toEqual([400, expect.stringContaining('"code":"INVALID_INPUT"')])
    const expecting = await raw(`GET /sandboxes HTTP/1.1\r\n${own()}Expect: something\r\n${end}`)
    expect([statusOf(expecting), expecting]).toEqual([200, expect.stringContaining('"items":[')])
  })

  it('tells a path that is not there, and a method that it does not take, only to whoever has a token', async () => {
    const { call } = ground
    expect((await call('GET', '/nowhere', { token: null })).status).toBe(401)
    expect(codeOf(await call('GET', '/nowhere'))).toBe('NOT_FOUND')
    const wrong = await call('PUT', '/sandboxes')
    expect([wrong.status, codeOf(wrong), wrong.headers['allow']]).toEqual([405, 'METHOD_NOT_ALLOWED', 'POST, GET'])
  })
})

describe('the wire', () => {
  it('what two readers could read differently is refused', async () => {
    const body = '5\r\n{"a":\r\n'
    const tries: readonly (readonly [string, string])[] = [
      [
        'length and chunks',
        `POST /sandboxes HTTP/1.1\r\n${own()}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
      ],
      ['two lengths', `POST /sandboxes HTTP/1.1\r\n${own()}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `],
      ['an unknown coding', `POST /sandboxes HTTP/1.1\r\n${own()}Transfer-Encoding: xchunked\r\n\r\n${body}`],
      ['bare line feeds', `GET /sandboxes HTTP/1.1\nHost: 127.0.0.1:${ground.port}\n\n`],
      ['a folded header', `GET /sandboxes HTTP/1.1\r\n${own()}X-A: 1\r\n  2\r\n${end}`],
      ['a space before the colon', `GET /sandboxes HTTP/1.1\r\n${own()}X-A : 1\r\n${end}`],
      ['a NUL in a header', `GET /sandboxes HTTP/1.1\r\n${own()}X-A: \0\r\n${end}`],
      ['two hosts', `GET /sandboxes HTTP/1.1\r\n${own()}Host: evil.example\r\n${end}`],
      ['two authorizations', `GET /sandboxes HTTP/1.1\r\n${own()}Authorization: Bearer x\r\n${end}`],
      [
        'two types',
        `POST /sandboxes HTTP/1.1\r\n${own()}Content-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n${end}{}`,
      ],
    ]
    for (const [what, text] of tries) expect([what, statusOf(await raw(text))]).toEqual([what, 400])
    expect(statusOf(await raw(`GET /sandboxes HTTP/1.1\r\n${own()}${end}`))).toBe(200)
  })

  it('headers and addresses have a limit', async () => {
    expect(statusOf(await raw(`GET /sandboxes HTTP/1.1\r\n${own()}X-A: ${'a'.repeat(17 * 1024)}\r\n${end}`))).toBe(431)
    expect(statusOf(await raw(`GET /sandboxes/${'a'.repeat(64 * 1024)} HTTP/1.1\r\n${own()}${end}`))).toBe(414)
    expect(statusOf(await raw(`GET /sandboxes/${'a'.repeat(9 * 1024)} HTTP/1.1\r\n${own()}${end}`))).toBe(414)
  })

  it('whoever sends headers or a body too slowly is answered 408 and not waited for', async () => {
    // One of its own: on a busy machine nobody else's request is to be taken for a slow one.
    const to = await startServer({ flags: ['--limit', 'headersMs=1500', '--limit', 'requestMs=2500'] })
    try {
      const host = `Host: 127.0.0.1:${to.port}\r\n`
      expect(statusOf(await raw(`GET /sandboxes HTTP/1.1\r\n${host}X-Slow: `, { to }))).toBe(408)
      const head = `POST /sandboxes HTTP/1.1\r\n${host}Authorization: Bearer ${to.token}\r\n`
      const slow = `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`
      expect(statusOf(await raw(slow, { to }))).toBe(408)
      expect((await to.call('GET', '/healthz')).status).toBe(200)
    } finally {
      await to.stop()
    }
  })
})

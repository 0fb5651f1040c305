// Every refusal is in the audit log: who was refused, with what code, at which route; and nothing of what was sent. One request for each
// code that a caller can provoke, from a stranger's broken bytes to a change that comes while the server ends.
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startServer, type Asked, type ServerGround } from './server-ground.ts'
import { sendRaw } from './server-wire.ts'

interface Shown {
  readonly action: string
  readonly actor: string
  readonly outcome: string
  readonly subject: string
  readonly data: { readonly code?: string; readonly count?: number; readonly requestId?: string }
}

/** In everything that is sent: in addresses, queries, headers, bodies and tokens. */
const canary = 'canary0123456789'

let place: string
let ground: ServerGround

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-refusals-')))
  const limits = ['jsonBytes=4096', 'perToken=1', 'inFlightPerToken=2', 'headersMs=4000']
  ground = await startServer({ place, flags: ['--grace', '50s', ...limits.flatMap((limit) => ['--limit', limit])] })
})
afterAll(() => {
  ground.server.child.kill('SIGKILL')
  rmSync(place, { recursive: true, force: true })
})

const unknownId = `sbx_${'0'.repeat(32)}`

/** What each request must have left, as `CODE who route`. The server has ended when this settles. */
async function provokeAll(): Promise<readonly string[]> {
  const { call, port, token } = ground
  const told: string[] = []
  const meant = (code: string, who: string, route: string): void => void told.push(`${code} ${who} ${route}`)
  const idOf = async (): Promise<string> => `token:${String((await call('GET', '/tokens?limit=1')).at('items.0.id'))}`
  const first = await idOf()
  const reader = await ground.makeToken('read', null)
  const readerId = await idOf()
  const busy = await ground.makeToken('exec', null)
  const busyId = await idOf()
  const short = await ground.makeToken('admin', 'ours', { expires_in_seconds: 600 })
  const shortId = await idOf()
  const sandboxId = String((await call('POST', '/sandboxes')).at('id'))
  const sandbox = `/sandboxes/${sandboxId}`
  const shells = `${sandbox}/shells`
  const terminal = String((await call('POST', shells, { body: { pty: true, argv: ['true'] } })).at('id'))
  await call('PUT', `${sandbox}/files?path=/workspace/there`, { raw: 'there' })
  const expired = (await ground.glovebox(['token', 'create', 'short', '--expires', '1s'])).stdout.trim()
  await new Promise((resolve) => setTimeout(resolve, 1100))

  const own = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n`
  // It takes until the limit; the others do not wait for it.
  const slow = sendRaw(ground, `GET /sandboxes?q=${canary} HTTP/1.1\r\n${own}X-${canary}: `)
  meant('TIMED_OUT', 'nobody', '*')

  const rows: readonly (readonly [code: string, who: string, route: string, method: string, path: string, Asked?])[] = [
    ['UNAUTHENTICATED', 'nobody', 'get /sandboxes', 'GET', `/sandboxes?token=${canary}`, { token: `gbx_${canary}` }],
    ['TOKEN_EXPIRED', 'nobody', 'get /sandboxes', 'GET', '/sandboxes', { token: expired }],
    [
      'INSUFFICIENT_SCOPE',
      readerId,
      'post /sandboxes',
      'POST',
      '/sandboxes',
      { token: reader, body: { name: canary } },
    ],
    [
      'SCOPE_ESCALATION',
      shortId,
      'post /tokens',
      'POST',
      '/tokens',
      { token: short, body: { name: canary, scopes: ['read'], project: null } },
    ],
    [
      'HOST_NOT_ALLOWED',
      'nobody',
      'get /sandboxes',
      'GET',
      `/sandboxes?q=${canary}`,
      { headers: { host: `${canary}.example` } },
    ],
    [
      'ORIGIN_NOT_ALLOWED',
      'nobody',
      'get /sandboxes',
      'GET',
      '/sandboxes',
      { headers: { origin: `https://${canary}.example` } },
    ],
    [
      'POLICY_ESCALATION',
      shortId,
      'post /sandboxes',
      'POST',
      '/sandboxes',
      { token: short, body: { name: canary, policy: { memoryMb: 100_000 } } },
    ],
    [
      'POLICY_DENIED',
      first,
      'delete /sandboxes/{sandbox_id}/files',
      'DELETE',
      `${sandbox}/files?path=/workspace/there`,
    ],
    ['QUOTA_EXCEEDED', first, 'post /sandboxes', 'POST', '/sandboxes', { body: { name: canary } }],
    ['NOT_FOUND', first, 'get /sandboxes/{sandbox_id}', 'GET', `/sandboxes/${unknownId}`],
    ['NOT_FOUND', shortId, 'get /sandboxes/{sandbox_id}', 'GET', sandbox, { token: short }],
    ['NOT_FOUND', first, 'get /sandboxes/{sandbox_id}/files', 'GET', `${sandbox}/files?path=/workspace/${canary}`],
    ['NOT_FOUND', first, 'get /*', 'GET', `/${canary}`],
    ['INVALID_INPUT', first, 'post /tokens', 'POST', '/tokens', { body: { name: canary, scopes: [canary] } }],
    ['INVALID_INPUT', first, 'get /sandboxes/{sandbox_id}', 'GET', `/sandboxes/${canary}`],
    ['UNKNOWN_FIELD', first, 'post /sandboxes', 'POST', '/sandboxes', { body: { [canary]: 1 } }],
    ['INVALID_CURSOR', first, 'get /tokens', 'GET', `/tokens?cursor=${canary}`],
    ['INVALID_PATH', first, 'get /sandboxes/{sandbox_id}/files', 'GET', `${sandbox}/files?path=${canary}%00`],
    [
      'OUTSIDE_MOUNTS',
      first,
      'get /sandboxes/{sandbox_id}/files/stat',
      'GET',
      `${sandbox}/files/stat?path=/etc/${canary}`,
    ],
    [
      'RANGE_NOT_SATISFIABLE',
      first,
      'get /sandboxes/{sandbox_id}/files',
      'GET',
      `${sandbox}/files?path=/workspace/there`,
      { headers: { range: 'bytes=99-' } },
    ],
    [
      'CONFLICT',
      first,
      'put /sandboxes/{sandbox_id}/files',
      'PUT',
      `${sandbox}/files?path=/workspace/there&expected_sha256=none`,
      { raw: canary },
    ],
    ['METHOD_NOT_ALLOWED', first, 'get /*', 'PUT', `/sandboxes?q=${canary}`],
    ['TOO_LARGE', first, 'post /tokens', 'POST', '/tokens', { body: { name: canary.repeat(300), scopes: ['read'] } }],
    [
      'UNSUPPORTED_MEDIA_TYPE',
      first,
      'post /tokens',
      'POST',
      '/tokens',
      { raw: canary, headers: { 'content-type': 'text/plain' } },
    ],
    ['URI_TOO_LONG', 'nobody', 'get /sandboxes', 'GET', `/sandboxes?q=${canary.repeat(600)}`],
    [
      'UPGRADE_REQUIRED',
      first,
      'get /sandboxes/{sandbox_id}/shells/{shell_id}/attach',
      'GET',
      `${shells}/${terminal}/attach`,
    ],
  ]
  for (const [code, who, route, method, path, asked = {}] of rows) {
    const answer = await call(method, path, asked)
    expect([method, path.slice(0, 100), answer.at('error.code')]).toEqual([method, path.slice(0, 100), code])
    meant(code, who, route)
  }

  const end = 'Connection: close\r\n\r\n'
  const webSocket = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\n`
  const attach = `GET ${shells}/sh_${'0'.repeat(32)}/attach HTTP/1.1\r\n${own}${webSocket}`
  const attachRoute = 'attach /sandboxes/{sandbox_id}/shells/{shell_id}/attach'
  const wire = [
    ['INVALID_INPUT', 'nobody', '*', `GET /${canary} HTTP/1.1\r\n${own}X-A : ${canary}\r\n${end}`],
    ['HEADERS_TOO_LARGE', 'nobody', '*', `GET / HTTP/1.1\r\n${own}X-A: ${canary.repeat(1100)}\r\n${end}`],
    ['URI_TOO_LONG', 'nobody', '*', `GET /${canary.repeat(4096)} HTTP/1.1\r\n${own}${end}`],
    ['INVALID_INPUT', first, '*', `GET http://[${canary} HTTP/1.1\r\n${own}${end}`],
    [
      'INVALID_INPUT',
      'nobody',
      'attach /*',
      `POST /tokens HTTP/1.1\r\n${own}Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 16\r\n\r\n${canary}`,
    ],
    ['ORIGIN_NOT_ALLOWED', 'nobody', attachRoute, `${attach}\r\n`],
    ['NOT_FOUND', first, attachRoute, `${attach}Origin: ${ground.url}\r\n\r\n`],
  ] as const
  for (const [code, who, route, text] of wire) {
    expect([text.slice(0, 100), await sendRaw(ground, text)]).toEqual([
      text.slice(0, 100),
      expect.stringContaining(`"code":"${code}"`),
    ])
    meant(code, who, route)
  }
  expect(await slow).toContain('"code":"TIMED_OUT"')

  // Two that wait are all that a token may have under way here; and they keep the server from its end.
  const waitFor = (name: string): Promise<unknown> =>
    call('POST', `${sandbox}/commands`, {
      token: busy,
      body: { command: `touch ${name}; while [ ! -e go ]; do sleep 0.05; done; echo ${canary} >/dev/null` },
    })
  const waiting = [waitFor('one'), waitFor('two')]
  const workspace = join(ground.state, sandbox, 'workspace')
  await expect.poll(() => ['one', 'two'].every((name) => existsSync(join(workspace, name)))).toBe(true)
  expect((await call('GET', '/sandboxes', { token: busy })).at('error.code')).toBe('TOO_MANY_REQUESTS')
  meant('TOO_MANY_REQUESTS', busyId, '*')
  ground.server.child.kill('SIGTERM')
  await expect.poll(async () => (await call('GET', '/readyz')).status).toBe(503)
  expect((await call('POST', '/sandboxes', { body: { name: canary } })).at('error.code')).toBe('DRAINING')
  meant('DRAINING', first, 'post /sandboxes')
  writeFileSync(join(workspace, 'go'), '')
  await Promise.all(waiting)
  await ground.server.finished
  return told
}

it('every refusal is in the audit log, with who, code and route, and with nothing of what was sent', async () => {
  const expected = await provokeAll()
  expect(expected.length).toBeGreaterThan(30)
  const shown = (await ground.glovebox(['audit', 'show', '--json'])).stdout
  const records = shown
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Shown)
    .filter(({ action }) => action === 'request.refused')
  const found = new Set(records.map(({ data, actor, subject }) => `${data.code} ${actor} ${subject}`))
  expect(expected.filter((each) => !found.has(each))).toEqual([])
  for (const { outcome, data } of records) {
    expect(outcome).toBe('failed')
    expect(data.count).toBeGreaterThan(0)
    expect(data.requestId).toMatch(/^req_[0-9a-f]{32}$/)
  }
  const told = JSON.stringify(records)
  for (const sent of [canary, unknownId, 'gbx_', '?']) expect([sent, told.includes(sent)]).toEqual([sent, false])
  // The record of a change that was begun names its address, and no token either.
  expect(shown.includes('gbx_')).toBe(false)
})

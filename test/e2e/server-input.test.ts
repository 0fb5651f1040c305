// Bodies that are too large, too deep, too many or of the wrong shape; and callers that ask for too much at once.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type Asked, type ServerGround } from './server-ground.ts'

const mebibyte = 1024 * 1024
const limits = { jsonBytes: 65_536, perToken: 3, snapshotsPerToken: 2, uploadFiles: 20, uploadBytes: 8 * mebibyte }

let ground: ServerGround
let sandbox: string

beforeAll(async () => {
  ground = await startServer({
    flags: Object.entries(limits).flatMap(([name, value]) => ['--limit', `${name}=${value}`]),
  })
  sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
})
afterAll(async () => {
  await ground.stop()
})

const send = (raw: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  ground.call('POST', '/tokens', { raw, headers: { 'content-type': 'application/json', ...headers } })

const outcome = (answer: Answered): readonly [number, unknown] => [answer.status, codeOf(answer)]

/** Resident memory of the server. */
const memoryMiB = (): number => {
  const status = readFileSync(`/proc/${ground.server.child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

describe('size', () => {
  it('a body of one byte more than the limit is refused', async () => {
    const bodyOf = (bytes: number): string => `{"name":"${'a'.repeat(bytes - 11)}"}`
    expect(Buffer.byteLength(bodyOf(65_536))).toBe(65_536)
    expect(outcome(await send(bodyOf(65_537)))).toEqual([413, 'TOO_LARGE'])
    // As large as it may be, it is read, and refused for its content alone.
    expect(outcome(await send(bodyOf(65_536)))).toEqual([400, 'INVALID_INPUT'])
  })

  it('a body without a length is counted while it comes', async () => {
    // Beyond the limit, and no more than a server reads to its end behind an answer.
    const large = Buffer.alloc(40 * 4096, ' ')
    expect(outcome(await send(large, { 'transfer-encoding': 'chunked' }))).toEqual([413, 'TOO_LARGE'])
    expect((await ground.call('GET', '/healthz')).status).toBe(200)
  })

  it('a body that inflates beyond the limit is refused at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, 32), { level: 9 })
    const before = memoryMiB()
    const many = await Promise.all(
      Array.from({ length: 4 }, () => send(bomb.subarray(0, 60_000), { 'content-encoding': 'gzip' })),
    )
    for (const answer of many) expect(outcome(answer)).toEqual([413, 'TOO_LARGE'])
    expect(memoryMiB() - before).toBeLessThan(48)
    const small = gzipSync(JSON.stringify({ name: 'small', scopes: ['read'] }))
    expect((await send(small, { 'content-encoding': 'gzip' })).status).toBe(201)
    expect(outcome(await send('{}', { 'content-encoding': 'br' }))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  it('an upload has a limit of its own, and a sandbox a quota', async () => {
    const put = (name: string, raw: Uint8Array): Promise<Answered> =>
      ground.call('PUT', `${sandbox}/files?path=/workspace/${name}`, { raw })
    expect(outcome(await put('big', Buffer.alloc(16 * 1024 * 1024 + 1)))).toEqual([413, 'TOO_LARGE'])
    // Together they are beyond the quota, each alone is not; and what is refused counts for nothing.
    expect((await put('half', Buffer.alloc(5 * mebibyte))).status).toBe(200)
    expect(outcome(await put('other', Buffer.alloc(3 * mebibyte + 1)))).toEqual([429, 'QUOTA_EXCEEDED'])
    expect((await put('rest', Buffer.alloc(3 * mebibyte - 1024))).status).toBe(200)
    const outcomes: number[] = []
    for (let made = 0; made < 25; made++) outcomes.push((await put(`f${made}`, Buffer.from('x'))).status)
    expect(outcomes.slice(0, 18)).toEqual(Array.from({ length: 18 }, () => 200))
    expect(outcomes.slice(18)).toEqual(Array.from({ length: 7 }, () => 429))
    expect(codeOf(await put('more', Buffer.from('x')))).toBe('QUOTA_EXCEEDED')
  })
})

describe('shape', () => {
  it.each([
    ['nothing but text', 'x'],
    ['NaN', '{"name":"n","scopes":["read"],"expires_in_seconds":NaN}'],
    ['half a surrogate pair', '{"name":"\\ud800","scopes":["read"]}'],
    ['a name twice', '{"name":"a","name":"b","scopes":["read"]}'],
    ['a name twice, once escaped', '{"name":"a","n\\u0061me":"b","scopes":["read"]}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['too deep a nest', `${'['.repeat(40)}${']'.repeat(40)}`],
    ['two values', '{} {}'],
  ])('%s is refused', async (_what, text) => {
    expect(outcome(await send(text))).toEqual([400, 'INVALID_INPUT'])
  })

  it('bytes that are no UTF-8 are refused', async () => {
    expect(outcome(await send(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])))).toEqual([400, 'INVALID_INPUT'])
  })

  it('names that reach for a prototype are refused', async () => {
    for (const name of ['__proto__', 'constructor', 'prototype', 'isAdmin'])
      expect([name, ...outcome(await send(`{"name":"n","scopes":["read"],"${name}":{"isAdmin":true}}`))]).toEqual([
        name,
        400,
        'UNKNOWN_FIELD',
      ])
    const nested = { env: { ['__proto__']: 'x' } }
    expect(
      outcome(
        await ground.call('POST', '/sandboxes', {
          raw: JSON.stringify(nested).replace('{}', '{"__proto__":"x"}'),
          headers: { 'content-type': 'application/json' },
        }),
      ),
    ).toEqual([400, 'UNKNOWN_FIELD'])
    expect(outcome(await ground.call('GET', '/tokens?__proto__=1'))).toEqual([400, 'UNKNOWN_FIELD'])
  })

  it('a field or a query that is not known is refused by its name', async () => {
    const answer = await ground.call('POST', '/sandboxes', { body: { devices: ['/dev/kvm'], privileged: true } })
    expect(outcome(answer)).toEqual([400, 'UNKNOWN_FIELD'])
    expect(answer.at('error.facts.fields')).toEqual(['devices', 'privileged'])
    expect(outcome(await ground.call('GET', '/sandboxes?sort=id'))).toEqual([400, 'UNKNOWN_FIELD'])
    expect(outcome(await ground.call('GET', '/healthz?x=1'))).toEqual([200, undefined])
  })

  it('a name as long as a body is told by its beginning', async () => {
    const name = 'n'.repeat(20_000)
    for (const body of [{ [name]: 1 }, { policy: { [name]: 1 } }, { metadata: { [name]: 'x' } }]) {
      const answer = await ground.call('POST', '/sandboxes', { body })
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('n'.repeat(50))
      expect(answer.text.length).toBeLessThan(5000)
    }
  })

  it('metadata has a bound for all of it together', async () => {
    const metadata = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 'é'.repeat(2000)]))
    expect(outcome(await ground.call('POST', '/sandboxes', { body: { metadata: metadata(5) } }))).toEqual([
      400,
      'INVALID_INPUT',
    ])
    const made = await ground.call('POST', '/sandboxes', { body: { metadata: metadata(4) } })
    expect([made.status, made.at('metadata')]).toEqual([201, metadata(4)])
    await ground.call('DELETE', `/sandboxes/${String(made.at('id'))}`)
  })

  it.each([
    ['privileged', { privileged: true }],
    ['runtime', { runtime: 'runc' }],
    ['uid', { uid: 0 }],
    ['user', { user: 'root' }],
    ['capAdd', { capAdd: ['SYS_ADMIN'] }],
    ['devices', { devices: ['/dev/kvm'] }],
    ['volumes', { volumes: ['/:/host'] }],
    ['image', { image: '--privileged' }],
    ['policy.privileged', { policy: { privileged: true } }],
    ['policy.user', { policy: { user: 0 } }],
    ['mounts.0.hostPath', { mounts: [{ hostPath: '/', guestPath: '/host' }] }],
  ])('there is no %s to ask for', async (field, body) => {
    const answer = await ground.call('POST', '/sandboxes', { body })
    expect([...outcome(answer), answer.at('error.facts.fields')]).toEqual([400, 'UNKNOWN_FIELD', [field]])
  })

  it.each(['/:/host', 'a:b:rw,z', { name: '/', guestPath: '/host' }, { name: '../x', guestPath: '/host' }])(
    'a mount %j is none that the operator offers',
    async (mount) => {
      expect(outcome(await ground.call('POST', '/sandboxes', { body: { mounts: [mount] } }))).toEqual([
        400,
        'INVALID_INPUT',
      ])
    },
  )

  it.each([
    ['timeoutMs', -1],
    ['timeoutMs', 0],
    ['timeoutMs', '5'],
    ['timeoutMs', 1.5],
    ['memoryMb', 0],
    ['cpuCores', 0],
    ['cpuCores', -1],
    ['pids', 1e308],
    ['timeoutMs', 1e12],
    ['cpuCores', 1e6],
  ])('a policy of %s %s is refused with the name of the field', async (field, value) => {
    const answer = await ground.call('POST', '/sandboxes', { body: { policy: { [field]: value } } })
    expect(outcome(answer)).toEqual([400, 'INVALID_INPUT'])
    expect(answer.at('error.message')).toContain(field)
    expect(answer.at('error.facts.fields')).toEqual([`policy.${field}`])
  })

  it.each([
    ['timeoutMs', 300_001],
    ['memoryMb', 4097],
    ['cpuCores', 4.5],
    ['network', { mode: 'full' }],
    ['delete', true],
  ])('a policy of %s %s is above the ceiling', async (field, value) => {
    const answer = await ground.call('POST', '/sandboxes', { body: { policy: { [field]: value } } })
    expect([answer.status, codeOf(answer)]).toEqual([403, 'POLICY_ESCALATION'])
  })

  it('a policy has at most a thousand rules', async () => {
    const withRules = (count: number): Promise<Answered> =>
      ground.call('POST', '/sandboxes', {
        body: {
          policy: { network: { mode: 'allowlist', allow: Array.from({ length: count }, (_, at) => `h${at}.x`) } },
        },
      })
    const tooMany = await withRules(1001)
    expect(outcome(tooMany)).toEqual([400, 'INVALID_INPUT'])
    expect(tooMany.at('error.facts.fields')).toEqual(['policy.network.allow'])
    // One less is read, and refused for what it asks for.
    expect(outcome(await withRules(1000))).toEqual([403, 'POLICY_ESCALATION'])
  })

  it('an id in a path is only ever an id', async () => {
    for (const id of ['sbx_', 'sbx_a%2fb', `sbx_${'a'.repeat(65)}`, "sbx_' or 1=1", 'sbx_%00aaaaaaaa'])
      expect([id, ...outcome(await ground.call('GET', `/sandboxes/${id}`))]).toEqual([id, 400, 'INVALID_INPUT'])
    // Whoever sends these takes them out of the path first.
    for (const id of ['..', '%2e%2e'])
      expect([id, ...outcome(await ground.call('GET', `/sandboxes/${id}`))]).toEqual([id, 404, 'NOT_FOUND'])
    expect(outcome(await ground.call('GET', `/sandboxes/sbx_${'0'.repeat(32)}`))).toEqual([404, 'NOT_FOUND'])
  })
})

describe('too much at once', () => {
  it('creates of one token beyond its quota are refused with Retry-After, and others are served', async () => {
    const other = await ground.makeToken('exec', 'other')
    const flood = Array.from({ length: 60 }, () => ground.call('POST', '/sandboxes'))
    const served = await ground.call('GET', '/sandboxes', { token: other })
    const answers = await Promise.all(flood)
    expect(served.status).toBe(200)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 429]))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
    for (const { status, headers } of answers) if (status === 429) expect(headers['retry-after']).toMatch(/^\d+$/)
  })

  it('forks beyond the quota of a token are refused together, and what was refused counts for nothing', async () => {
    const token = await ground.makeToken('exec', null)
    const first = await ground.call('POST', '/sandboxes', { token })
    const fork = (count: number): Promise<Answered> =>
      ground.call('POST', `/sandboxes/${String(first.at('id'))}/fork`, { token, body: { count } })
    expect(outcome(await fork(3))).toEqual([429, 'QUOTA_EXCEEDED'])
    expect((await fork(2)).status).toBe(201)
  })

  it('snapshots of one token beyond its quota are refused, until it deletes one; others take their own', async () => {
    const other = await ground.makeToken('exec', null)
    const take = (asked: Asked = {}): Promise<Answered> => ground.call('POST', `${sandbox}/snapshots`, asked)
    const keyed = { headers: { 'idempotency-key': 'one-snapshot' } }
    const first = await take(keyed)
    expect([first.status, (await take()).status]).toEqual([201, 201])
    const beyond = await take()
    expect(outcome(beyond)).toEqual([429, 'QUOTA_EXCEEDED'])
    expect([beyond.at('error.message'), beyond.at('error.hint')].join(' ')).toMatch(/2 snapshots.*Delete snapshots/)
    // What was taken already is the answer, and no other snapshot.
    expect((await take(keyed)).at('id')).toBe(first.at('id'))
    const [theirs, list] = [await take({ token: other }), await ground.call('GET', '/snapshots')]
    expect([theirs.status, (list.at('items') as readonly unknown[]).length]).toEqual([201, 3])
    expect((await ground.call('DELETE', `/snapshots/${String(first.at('id'))}`)).status).toBe(204)
    expect([(await take()).status, (await take()).status]).toEqual([201, 429])
  })

  it('requests of one token beyond its share are refused with Retry-After, and others are served', async () => {
    const slow = await startServer({ flags: ['--limit', 'requestsPerSecond=1', '--limit', 'burst=15'] })
    try {
      const other = await slow.makeToken('read', null)
      const begun = performance.now()
      const answers = await Promise.all(Array.from({ length: 40 }, () => slow.call('GET', '/sandboxes')))
      const refused = answers.filter(({ status }) => status === 429)
      expect(refused.length).toBeGreaterThan(0)
      // The burst, and one for every second that it took.
      expect(answers.length - refused.length).toBeLessThanOrEqual(16 + (performance.now() - begun) / 1000)
      for (const answer of refused)
        expect([codeOf(answer), answer.headers['retry-after']]).toEqual(['TOO_MANY_REQUESTS', '1'])
      expect((await slow.call('GET', '/sandboxes', { token: other })).status).toBe(200)
      expect((await slow.call('GET', '/healthz')).status).toBe(200)
    } finally {
      await slow.stop()
    }
  })
})

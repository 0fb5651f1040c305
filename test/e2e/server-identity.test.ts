// Who may do what: every route of the document against every kind of token, and what a token may make of itself.
import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Operation } from '../fixtures/server-contract.ts'
import { filesWith } from '../fixtures/value-search.ts'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'
import { makeObjects, sampleOf, type Objects, type Sample } from './server-objects.ts'
import { attachPath, exceptions, neededFor, type Needed } from './server-scopes.ts'
import { sendRaw, statusOf } from './server-wire.ts'

let ground: ServerGround
let objects: Objects
let closed: readonly Operation[]

beforeAll(async () => {
  ground = await startServer()
  objects = await makeObjects(ground, 'theirs')
  closed = ground.contract.operations.filter((operation) => neededFor(operation) !== 'open')
})
afterAll(async () => {
  await ground.stop()
})

/** The path of a WebSocket, as it is asked for without an upgrade. */
const attach = (): Sample => ({
  method: 'GET',
  path: attachPath.replace('{sandbox_id}', objects.sandboxId).replace('{shell_id}', objects.terminalId),
})
/** And with one, which another part of the server answers. */
const upgrade = (): Sample => ({ ...attach(), headers: { ...handshake, origin: ground.url } })
const attaching = (): readonly Sample[] => [attach(), upgrade()]

const needing = (...needed: readonly Needed[]): readonly Operation[] =>
  closed.filter((operation) => needed.includes(neededFor(operation)))

function samples(operations: readonly Operation[]): readonly Sample[] {
  return operations.flatMap((operation) => sampleOf(operation, objects) ?? [])
}

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

const ask = ({ method, path, ...asked }: Sample, token: string | null, headers = {}): Promise<Answered> =>
  ground.call(method, path, { ...asked, token, headers: { ...asked.headers, ...headers } })

/** What came of each, as `GET /runs: 200 CODE`. */
async function outcomes(all: readonly Sample[], token: string | null): Promise<readonly string[]> {
  const told: string[] = []
  for (const sample of all) {
    const answer = await ask(sample, token)
    const code = answer.status < 400 ? '' : ` ${String(codeOf(answer))}`
    told.push(`${sample.method} ${sample.path.split('?')[0]}: ${answer.status}${code}`)
  }
  return told
}

const allEnd = (told: readonly string[], end: string): readonly string[] => told.filter((line) => !line.endsWith(end))

describe('the identity matrix', () => {
  it('has a request for every route of the document', () => {
    const missing = ground.contract.operations.filter((operation) => sampleOf(operation, objects) === undefined)
    expect(missing.map(({ id }) => id)).toEqual([])
    expect(closed.length).toBeGreaterThan(35)
  })

  it('every route declares the scope that the law has for it', () => {
    const { operations } = ground.contract
    const told = (scopeOf: (operation: Operation) => string): readonly string[] =>
      operations.map((operation) => `${operation.method} ${operation.path}: ${scopeOf(operation)}`)
    expect(told(({ scope }) => scope)).toEqual(told(neededFor))
    // Each exception is one of a route that is there; one of these is in no document, and only asked for below.
    const there = new Set(operations.map(({ method, path }) => `${method} ${path}`))
    expect(Object.keys(exceptions).filter((route) => !there.has(route))).toEqual([`GET ${attachPath}`])
  })

  it('only health and the page about the API are open', async () => {
    const open = ground.contract.operations.filter((operation) => neededFor(operation) === 'open')
    expect(open.map(({ path }) => path)).toEqual(['/healthz', '/readyz', '/docs'])
    expect(allEnd(await outcomes(samples(open), null), ': 200')).toEqual([])
  })

  it('without a token every route answers 401 and says how to come in', async () => {
    for (const sample of [...samples(closed), ...attaching()]) {
      const answer = await ask(sample, null)
      expect([sample.path, answer.status, codeOf(answer)]).toEqual([sample.path, 401, 'UNAUTHENTICATED'])
      expect(answer.headers['www-authenticate']).toContain('Bearer')
    }
  })

  it('a token that is expired or revoked opens no route', async () => {
    const expired = (await ground.glovebox(['token', 'create', 'short', '--expires', '1s'])).stdout.trim()
    const revoked = await ground.makeToken('admin', null)
    const list = await ground.call('GET', '/tokens?limit=1')
    await ground.call('DELETE', `/tokens/${String(list.at('items.0.id'))}`)
    await new Promise((resolve) => setTimeout(resolve, 1100))
    const all = [...samples(closed), ...attaching()]
    expect(allEnd(await outcomes(all, expired), ': 401 TOKEN_EXPIRED')).toEqual([])
    expect(allEnd(await outcomes(all, revoked), ': 401 UNAUTHENTICATED')).toEqual([])
  })

  it('a read-only token changes nothing and sees no tokens', async () => {
    const reader = await ground.makeToken('read', 'theirs')
    const beyond = [...samples(needing('exec', 'admin')), ...attaching()]
    expect(allEnd(await outcomes(beyond, reader), ': 403 INSUFFICIENT_SCOPE')).toEqual([])
    const within = samples(needing('read'))
    expect((await outcomes(within, reader)).filter((line) => !/: 20[0-9]$/.test(line))).toEqual([])
  })

  it('a token that may run commands neither sees tokens nor makes or revokes any', async () => {
    const runner = await ground.makeToken('exec', 'theirs')
    const beyond = samples(needing('admin'))
    expect(beyond).toHaveLength(4)
    expect(allEnd(await outcomes(beyond, runner), ': 403 INSUFFICIENT_SCOPE')).toEqual([])
  })

  it('an object of another project is not found', async () => {
    const stranger = await ground.makeToken('admin', 'ours')
    const naming = closed.filter(
      ({ id, path }) =>
        path.includes('{') ||
        !['getMetrics', 'getPool', 'getOpenapiJson', 'getSandboxHealth', 'getTokens', 'postTokens'].includes(id),
    )
    expect(allEnd(await outcomes([...samples(naming), ...attaching()], stranger), ': 404 NOT_FOUND')).toEqual([])
  })

  it('an id that is next to a known one is not found, nor are two that were made together alike', async () => {
    const { call, makeToken } = ground
    const stranger = await makeToken('admin', 'ours')
    const exec = { project_id: 'theirs', exec: { kind: 'shell', command: 'true' } }
    const makeExec = async (): Promise<string> =>
      String((await call('POST', '/sandbox/execs', { body: exec })).at('exec_id'))
    const [one, other] = await Promise.all([makeExec(), makeExec()])
    expect(one.slice(0, 'exec_'.length + 8)).not.toBe(other.slice(0, 'exec_'.length + 8))
    const keyed = await call('POST', '/sandboxes', { body: { project: 'theirs', key: 'guessed' } })
    const { sandboxId, runId, snapshotId, tokenId } = objects
    const known = [`/sandbox/execs/${one}`, `/sandboxes/${sandboxId}`, `/sandboxes/${String(keyed.at('id'))}`]
    for (const path of [...known, `/runs/${runId}`, `/snapshots/${snapshotId}`, `/tokens/${tokenId}`]) {
      const next = `${path.slice(0, -1)}${path.endsWith('0') ? '1' : '0'}`
      expect([path, (await call('GET', path)).status]).toEqual([path, 200])
      const answers = [await call('GET', next), await call('GET', next, { token: stranger })]
      const foreign = await call('GET', path, { token: stranger })
      expect([...answers, foreign].map((answer) => [path, answer.status, codeOf(answer)])).toEqual(
        Array.from({ length: 3 }, () => [path, 404, 'NOT_FOUND']),
      )
      // Nothing in the words tells one that is there from one that is not.
      expect(foreign.at('error.message')).toBe(answers[1]?.at('error.message'))
    }
    await call('DELETE', `/sandboxes/${String(keyed.at('id'))}`)
  })

  it('a list shows nothing of another project', async () => {
    const stranger = await ground.makeToken('admin', 'empty')
    for (const path of ['/sandboxes', '/runs', '/sandbox/execs'])
      expect([path, (await ground.call('GET', path, { token: stranger })).at('items')]).toEqual([path, []])
    const { length } = (await ground.call('GET', '/tokens', { token: stranger })).at('items') as readonly unknown[]
    expect(length).toBe(1)
  })

  it('the same requests succeed with a token of the project and no more than the scope, so the refusals above can fail', async () => {
    const own = {
      read: await ground.makeToken('read', 'theirs'),
      exec: await ground.makeToken('exec', 'theirs'),
      admin: await ground.makeToken('admin', 'theirs'),
    }
    const last = new Set(['deleteTokensTokenId', 'postRunsRunIdApprove', 'deleteSandboxesSandboxId'])
    const refusedAnyway = new Set([
      'deleteSandboxesSandboxIdFiles',
      // Its program has ended; and pausing, which comes before, ends every shell.
      'postSandboxesSandboxIdShellsShellIdInput',
      'deleteSandboxesSandboxIdShellsShellId',
      'postRunsRunIdAnswer',
      'postRunsRunIdCancel',
      'postRunsRunIdRevise',
    ])
    expect(await outcomes([attach()], own.exec)).toEqual([expect.stringMatching(/\/attach: 426 UPGRADE_REQUIRED$/)])
    const gentle = closed.filter(({ id }) => !last.has(id) && !refusedAnyway.has(id))
    const told: string[] = []
    for (const operation of [...gentle, ...closed.filter(({ id }) => last.has(id)).toReversed()]) {
      const needed = neededFor(operation)
      if (needed !== 'open') told.push(...(await outcomes(samples([operation]), own[needed])))
    }
    expect(told).toHaveLength(closed.length - refusedAnyway.size)
    expect(told.filter((line) => !/: 20[0-9]$/.test(line))).toEqual([])
  })
})

describe('a token', () => {
  it('that is garbage, of another prefix, cut, very long or with strange bytes is refused', async () => {
    const bad = [
      'x',
      'ghp_abc',
      ground.token.slice(0, -1),
      `${ground.token}A`,
      'a'.repeat(10_000),
      `${ground.token}%00`,
      '..',
      "' or 1=1",
    ]
    for (const token of bad) {
      const answer = await ground.call('GET', '/sandboxes', { token })
      expect([token.slice(0, 20), answer.status, codeOf(answer)]).toEqual([token.slice(0, 20), 401, 'UNAUTHENTICATED'])
    }
  })

  it('with a NUL, a line break or a carriage return in it is never looked up', async () => {
    const { port, token } = ground
    const sent = (value: string): Promise<string> =>
      sendRaw(
        ground,
        `GET /sandboxes HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${value}\r\nConnection: close\r\n\r\n`,
      )
    for (const [value, status] of [
      [`Bearer ${token}\0`, 400],
      [`Bearer \0${token}`, 400],
      [`Bearer ${token}\n`, 400],
      [`Bearer ${token}\rX: 1`, 400],
      [`Bearer x\r\nAuthorization: Bearer ${token}`, 400],
      [`\r\n Bearer ${token}`, 400],
      [`Bearer x\r\nX-Token: ${token}`, 401],
      [`Bearer ${token}`, 200],
    ] as const)
      expect([JSON.stringify(value.replace(token, 'T')), statusOf(await sent(value))]).toEqual([
        JSON.stringify(value.replace(token, 'T')),
        status,
      ])
  })

  it('a token counts only as a Bearer in the Authorization header', async () => {
    const { token, call } = ground
    for (const authorization of [
      `Basic ${token}`,
      `Token ${token}`,
      `bearer ${token}`,
      token,
      `Bearer  ${token}`,
      `Bearer ${token} x`,
    ]) {
      const answer = await call('GET', '/sandboxes', { token: null, headers: { authorization } })
      expect([authorization.slice(0, 8), answer.status]).toEqual([authorization.slice(0, 8), 401])
    }
    for (const path of [`/sandboxes?token=${token}`, `/sandboxes?access_token=${token}`])
      expect((await call('GET', path, { token: null })).status).toBe(401)
    expect(
      (await call('GET', '/sandboxes', { token: null, headers: { 'x-api-key': token, cookie: `token=${token}` } }))
        .status,
    ).toBe(401)
    expect((await call('GET', '/sandboxes')).status).toBe(200)
  })

  it('a token cannot make one with more project or life than its own', async () => {
    const { call, makeToken } = ground
    const limited = await makeToken('admin', 'ours', { expires_in_seconds: 3600 })
    const tries = [
      { name: 'all', scopes: ['read'], project: null },
      { name: 'theirs', scopes: ['read'], project: 'theirs' },
      { name: 'longer', scopes: ['read'], expires_in_seconds: 7200 },
    ]
    for (const body of tries) {
      const answer = await call('POST', '/tokens', { token: limited, body })
      expect([body.name, answer.status, codeOf(answer)]).toEqual([body.name, 403, 'SCOPE_ESCALATION'])
    }
    const heir = await call('POST', '/tokens', { token: limited, body: { name: 'heir', scopes: ['read'] } })
    expect([heir.status, heir.at('project')]).toEqual([201, 'ours'])
    expect(Date.parse(String(heir.at('expires_at')))).toBeLessThanOrEqual(Date.now() + 3_600_000)
  })

  it.each([
    ['a life that is no number', { expires_in_seconds: '3600' }],
    ['a negative life', { expires_in_seconds: -1 }],
    ['an endless life', { expires_in_seconds: 1e308 }],
    ['no scope', { scopes: [] }],
    ['an unknown scope', { scopes: ['root'] }],
  ])('cannot be made with %s', async (_what, more) => {
    const answer = await ground.call('POST', '/tokens', { body: { name: 'bad', scopes: ['read'], ...more } })
    expect([answer.status, codeOf(answer)]).toEqual([400, 'INVALID_INPUT'])
  })

  it('is stored nowhere but as its hash, and told in no log', async () => {
    const secret = await ground.makeToken('exec', 'ours')
    await ground.call('GET', '/sandboxes', { token: secret })
    await ground.call('GET', `/sandboxes?token=${secret}`, { token: null })
    const found = (text: string): readonly string[] =>
      [ground.state, ground.data].flatMap((place) => filesWith(place, text))
    expect(found(createHash('sha256').update(secret).digest('hex')), 'control: its hash').toContainEqual(
      expect.stringMatching(/\/glovebox\.db(?:-wal)?$/),
    )
    expect(found(secret)).toEqual([])
    const planted = join(ground.data, 'planted')
    writeFileSync(planted, `it is ${secret}\n`)
    expect(found(secret), 'control: where it is').toEqual([planted])
    rmSync(planted)
    expect(ground.log().includes('/sandboxes')).toBe(true)
    expect(ground.log().includes(secret)).toBe(false)
  })
})

describe('lists', () => {
  it('a cursor that was forged or belongs to another project is refused', async () => {
    const { call, makeToken } = ground
    for (let made = 0; made < 3; made++) await makeToken('read', 'pages')
    const cursor = String((await call('GET', '/tokens?limit=1')).at('next_cursor'))
    expect((await call('GET', `/tokens?limit=1&cursor=${cursor}`)).status).toBe(200)
    const stranger = await makeToken('admin', 'pages')
    const flipped = `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`
    const tries = [
      ['x', ground.token],
      [flipped, ground.token],
      [cursor, stranger],
      [`${cursor}A`, ground.token],
    ] as const
    for (const [bad, token] of tries) {
      const answer = await call('GET', `/tokens?limit=1&cursor=${bad}`, { token })
      expect([bad.slice(0, 5), answer.status, codeOf(answer)]).toEqual([bad.slice(0, 5), 400, 'INVALID_CURSOR'])
    }
    expect(codeOf(await call('GET', `/sandboxes?limit=1&cursor=${cursor}`))).toBe('INVALID_CURSOR')
  })

  it('give at most the server’s page, whatever was asked for, and refuse what is no number', async () => {
    const { call, makeToken } = ground
    const token = await makeToken('admin', 'many')
    await Promise.all(Array.from({ length: 101 }, () => makeToken('read', 'many')))
    const page = await call('GET', '/tokens?limit=1000000000', { token })
    expect([page.status, (page.at('items') as readonly unknown[]).length]).toEqual([200, 100])
    const rest = await call('GET', `/tokens?limit=1000000000&cursor=${String(page.at('next_cursor'))}`, { token })
    expect([(rest.at('items') as readonly unknown[]).length, rest.at('next_cursor')]).toEqual([2, null])
    for (const limit of ['-1', '0', 'x', '1.5', 'NaN'])
      expect([limit, (await call('GET', `/tokens?limit=${limit}`)).status]).toEqual([limit, 400])
  })

  it('pages neither repeat nor leave out', async () => {
    const token = await ground.makeToken('admin', 'paged')
    for (let made = 0; made < 4; made++) await ground.makeToken('read', 'paged')
    const call = (method: string, path: string): Promise<Answered> => ground.call(method, path, { token })
    const whole = (await call('GET', '/tokens?limit=100')).at('items') as readonly { readonly id: string }[]
    expect(whole).toHaveLength(5)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Answered = await call('GET', `/tokens?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
      seen.push(...(page.at('items') as readonly { readonly id: string }[]).map(({ id }) => id))
      cursor = page.at('next_cursor') as string | null
    }
    expect(seen).toEqual(whole.map(({ id }) => id))
  })
})

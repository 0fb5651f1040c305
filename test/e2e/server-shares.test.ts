// What a token may have at a time: answers that are not taken yet, and streams.
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { judgeFetched } from '../fixtures/server-contract.ts'
import { codeOf, startServer, type ServerGround } from './server-ground.ts'
import { connectionsOf } from './server-wire.ts'

let ground: ServerGround
afterEach(async () => {
  await ground.stop()
})

const begin = async (...limits: readonly string[]): Promise<string> => {
  ground = await startServer({ flags: ['--grace', '1s', ...limits.flatMap((limit) => ['--limit', limit])] })
  return `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
}

const judged = (method: string, path: string, response: Response): Promise<readonly string[]> =>
  judgeFetched(ground.contract, { method, path, response })

describe('an answer', () => {
  it('is in hand until it is taken, and one whose reader takes nothing is cut off', async () => {
    const sandbox = await begin('inFlightPerToken=1', 'stalledMs=3000')
    // Larger than what the kernel keeps for a reader who takes nothing.
    await ground.call('PUT', `${sandbox}/files?path=/workspace/large`, { raw: randomBytes(16 * 1024 * 1024) })
    const other = await ground.makeToken('read', null)
    const idle = connect(ground.port, '127.0.0.1')
    idle.on('error', () => {})
    const lines = [`GET ${sandbox}/files?path=/workspace/large HTTP/1.1`, `Host: 127.0.0.1:${ground.port}`]
    idle.write([...lines, `Authorization: Bearer ${ground.token}`, '', ''].join('\r\n'))
    await expect.poll(async () => (await ground.call('GET', sandbox)).status).toBe(429)
    expect((await ground.call('GET', sandbox, { token: other })).status).toBe(200)
    await expect.poll(() => connectionsOf(ground.port)).toBe(0)
    expect((await ground.call('GET', sandbox)).status).toBe(200)
    await expect.poll(() => ground.log()).toContain('an answer was cut off')
    idle.destroy()
  })
})

describe('a stream too many', () => {
  it.each(['a command', 'a command of a shell'])('is refused before anything is begun for it: %s', async (kind) => {
    const sandbox = await begin('streamsPerToken=1')
    const shell = String((await ground.call('POST', `${sandbox}/shells`, { body: {} })).headers['location'])
    const place = kind === 'a command' ? `${sandbox}/commands` : `${shell}/commands`
    const follow = { accept: 'text/event-stream' }
    const first = await ground.call('POST', `${sandbox}/commands`, { body: { command: 'sleep 100', background: true } })
    const leaving = new AbortController()
    const headers = { ...follow, authorization: `Bearer ${ground.token}` }
    const path = `${String(first.headers['location'])}/events`
    const open = await fetch(`${ground.url}${path}`, { headers, signal: leaving.signal })
    expect([open.status, await judged('GET', path, open)]).toEqual([200, []])
    const refused = await ground.call('POST', place, { body: { command: 'touch /workspace/begun' }, headers: follow })
    expect([refused.status, codeOf(refused)]).toEqual([429, 'TOO_MANY_REQUESTS'])
    leaving.abort()
    const again = { body: { command: 'ls /workspace' }, headers: follow }
    await expect.poll(async () => (await ground.call('POST', place, again)).status).toBe(200)
    expect((await ground.call('POST', place, again)).text).not.toContain('begun')
    // What is answered without a stream has given its place back.
    expect((await ground.call('POST', place, { ...again, body: {} })).status).toBe(400)
    await expect.poll(async () => (await ground.call('POST', place, again)).status).toBe(200)
  })
})

describe('a body', () => {
  it.each(['in the background', 'that is followed'])('of a command counts until that has ended: %s', async (kind) => {
    const sandbox = await begin('bodyBytesPerToken=300000')
    const command = { command: 'sleep 100', stdin: 'x'.repeat(200_000) }
    const asked =
      kind === 'in the background'
        ? { body: { ...command, background: true } }
        : { body: { ...command, timeoutMs: 100_000 }, headers: { accept: 'text/event-stream' } }
    // Whoever follows one need not stay.
    const leaving = new AbortController()
    const headers = { ...asked.headers, authorization: `Bearer ${ground.token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(asked.body), signal: leaving.signal }
    const first = await fetch(`${ground.url}${sandbox}/commands`, init)
    expect(await judged('POST', `${sandbox}/commands`, first)).toEqual([])
    leaving.abort()
    const location = String(first.headers.get('location')).replace(/\/events$/, '')
    const more = { body: { command: 'wc -c', stdin: 'x'.repeat(200_000) } }
    const refused = await ground.call('POST', `${sandbox}/commands`, more)
    expect([first.ok, refused.status, codeOf(refused)]).toEqual([true, 429, 'TOO_MANY_REQUESTS'])
    expect((await ground.call('GET', location)).at('status')).toBe('running')
    expect((await ground.call('DELETE', location)).status).toBe(200)
    await expect.poll(async () => (await ground.call('POST', `${sandbox}/commands`, more)).status).toBe(200)
  })
})

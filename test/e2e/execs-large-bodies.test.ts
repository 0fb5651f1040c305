// Bodies of `POST /sandbox/execs`, which takes the largest of all: what is one of them costs no more than it must, and what only
// pretends to be one costs next to nothing. How long the server's loop may stand still is held by script/campaign server-fuzz.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

const mebibyte = 1024 * 1024
const mostBytes = 32 * mebibyte
const mostInflatedBytes = 8 * mebibyte

let ground: ServerGround
beforeAll(async () => {
  // What V8 makes room for and keeps is no cost of a request; held still, so that one can be told from it.
  ground = await startServer({ env: { NODE_OPTIONS: '--max-semi-space-size=2' } })
})
afterAll(async () => {
  await ground.stop()
})

const send = (raw: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  ground.call('POST', '/sandbox/execs', { raw, headers: { 'content-type': 'application/json', ...headers } })
const zipped = (raw: string | Uint8Array): Promise<Answered> => send(gzipSync(raw), { 'content-encoding': 'gzip' })

const exec = { kind: 'shell', command: 'sha256sum </workspace/inputs/large' }
const asked = (more: object): string => JSON.stringify({ project_id: 'large', exec, ...more })

/** So many bytes, most of them in one input. */
function bodyOf(bytes: number): string {
  const withContent = (content: string): string => asked({ inputs: [{ path: 'large', content }] })
  return withContent('x'.repeat(bytes - withContent('').length))
}

const memoryMiB = (field: 'VmRSS' | 'VmHWM'): number => {
  const status = readFileSync(`/proc/${ground.server.child.pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}

/** How much more memory the server had at any moment of it. */
async function costMiB(work: () => Promise<void>): Promise<number> {
  const before = memoryMiB('VmRSS')
  writeFileSync(`/proc/${ground.server.child.pid}/clear_refs`, '5')
  await work()
  return memoryMiB('VmHWM') - before
}

describe('a compressed body', () => {
  it('of a mebibyte that inflates to a gibibyte is 413 at the limit, and costs the server less than 16 MiB', async () => {
    const bomb = gzipSync(Buffer.alloc(1024 * mebibyte, 0x20), { level: 9 })
    expect(bomb.length).toBeLessThan(mebibyte + 1)
    const detonate = async (): Promise<void> => {
      const answer = await send(bomb, { 'content-encoding': 'gzip' })
      expect([answer.status, codeOf(answer), answer.at('error.facts')]).toEqual([
        413,
        'TOO_LARGE',
        { maxBytes: mostInflatedBytes },
      ])
      expect(answer.at('error.hint')).toContain('without Content-Encoding')
    }
    // A server that has been used: what its first requests load stays loaded, and its heap has grown to what it works with.
    for (let wave = 0; wave < 10; wave++)
      await Promise.all(Array.from({ length: 40 }, () => ground.call('GET', '/openapi.json')))
    await detonate()
    expect(await costMiB(detonate)).toBeLessThan(16)
    expect((await ground.call('GET', '/healthz')).status).toBe(200)
  })

  it('is taken up to its own limit, and one byte more is not', async () => {
    const most = await zipped(bodyOf(mostInflatedBytes))
    expect([most.status, most.at('status')]).toEqual([200, 'SUCCEEDED'])
    const more = await zipped(bodyOf(mostInflatedBytes + 1))
    expect([more.status, codeOf(more)]).toEqual([413, 'TOO_LARGE'])
    // Sent as it is, it is none that is too large.
    expect((await send(bodyOf(mostInflatedBytes + 1))).status).toBe(200)
  })
})

describe('a body as it is', () => {
  it('is taken up to the limit with every byte of it, and is one exec under its key', async () => {
    const raw = bodyOf(mostBytes)
    expect(Buffer.byteLength(raw)).toBe(mostBytes)
    const { content } = (JSON.parse(raw) as { inputs: [{ content: string }] }).inputs[0]
    const key = { 'idempotency-key': 'large' }
    const [first, again] = [await send(raw, key), await send(raw, key)]
    expect([first.status, first.at('status'), again.at('exec_id')]).toEqual([200, 'SUCCEEDED', first.at('exec_id')])
    const output = await ground.call('GET', `/sandbox/execs/${String(first.at('exec_id'))}/stdout`)
    expect(output.text).toBe(`${createHash('sha256').update(content).digest('hex')}  -\n`)
    const other = await send(`${raw.slice(0, -20)}y${raw.slice(-19)}`, key)
    expect([other.status, codeOf(other)]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
  })

  it('is read whole whatever it is written with: of two bytes a character, with escapes, and as base64', async () => {
    const bytes = Buffer.alloc(3 * mebibyte + 1, '\0é"\n😀')
    for (const input of [
      { content_base64: bytes.toString('base64') },
      { content: bytes.subarray(0, 3 * mebibyte - ((3 * mebibyte) % 9)).toString() },
    ]) {
      const answer = await send(asked({ inputs: [{ path: 'large', ...input }] }))
      const output = await ground.call('GET', `/sandbox/execs/${String(answer.at('exec_id'))}/stdout`)
      const sent = 'content' in input ? Buffer.from(input.content ?? '') : bytes
      expect(output.text).toBe(`${createHash('sha256').update(sent).digest('hex')}  -\n`)
    }
  })

  it.each([
    ['one byte more than the limit', () => bodyOf(mostBytes + 1), 413, 'TOO_LARGE'],
    ['a million names', () => `{${Array.from({ length: 1e6 }, (_, at) => `"k${at}":1`).join()}}`, 400, 'INVALID_INPUT'],
    ['a million numbers', () => `{"exec":[${'1,'.repeat(1e6)}1]}`, 400, 'INVALID_INPUT'],
    ['20,002 numbers', () => `{"exec":[${'1,'.repeat(20_001)}1]}`, 400, 'INVALID_INPUT'],
    ['a million brackets', () => '['.repeat(1e6), 400, 'INVALID_INPUT'],
    ['a name of 5,000 characters', () => `{"${'n'.repeat(5000)}":1}`, 400, 'INVALID_INPUT'],
    ['long names that differ in their last character', () => longNames(), 400, 'INVALID_INPUT'],
    ['nothing but space', () => ' '.repeat(mostBytes), 400, 'INVALID_INPUT'],
    [
      'a path as long as it',
      () => asked({ inputs: [{ path: 'a/'.repeat(15 * mebibyte), content: '' }] }),
      400,
      'INVALID_INPUT',
    ],
    [
      'a command as long as it',
      () => asked({ exec: { ...exec, command: 'x'.repeat(31 * mebibyte) } }),
      400,
      'INVALID_INPUT',
    ],
    [
      'base64 that is none',
      () => asked({ inputs: [{ path: 'a', content_base64: `${'A'.repeat(mebibyte)}*AAA` }] }),
      400,
      'INVALID_INPUT',
    ],
    [
      'a variable as long as it',
      () => asked({ exec: { ...exec, env: { A: 'x'.repeat(31 * mebibyte) } } }),
      400,
      'INVALID_ENV',
    ],
  ])('of %s is refused with its code', async (_what, make, status, code) => {
    const answer = await send(make())
    expect([answer.status, codeOf(answer)]).toEqual([status, code])
    expect(answer.text.length).toBeLessThan(2000)
  })
})

/** V8 would compare each with each. */
const longNames = (): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`${'n'.repeat(30_000)}${1000 + at}`, 1])))

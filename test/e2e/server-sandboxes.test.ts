// Sandboxes over the wire: the same that the library gives, with streams that can be left and found again.
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { headerOf, judgeHeard, parseEvents, type SeenEvent } from '../fixtures/server-contract.ts'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let ground: ServerGround
let sandbox: string

beforeAll(async () => {
  ground = await startServer()
  sandbox = await makeSandbox()
})
afterAll(async () => {
  await ground.stop()
})

const makeSandbox = async (body: object = {}): Promise<string> =>
  `/sandboxes/${String((await ground.call('POST', '/sandboxes', { body })).at('id'))}`

const command = (body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  ground.call('POST', `${sandbox}/commands`, { body, headers })

const stream = { accept: 'text/event-stream' }
const textOf = (events: readonly SeenEvent[], name: string): string =>
  events
    .filter(({ event }) => event === name)
    .map(({ data }) => (data as { readonly text: string }).text)
    .join('')

describe('a sandbox', () => {
  it('is made, described truthfully, listed and ended', async () => {
    const made = await ground.call('POST', '/sandboxes', { body: { name: 'mine', policy: { memoryMb: 256 } } })
    expect([made.status, made.at('name'), made.at('description.sandboxed')]).toEqual([201, 'mine', true])
    const place = String(made.headers['location'])
    expect((await ground.call('GET', place)).at('id')).toBe(made.at('id'))
    const listed = (await ground.call('GET', '/sandboxes')).at('items') as readonly { readonly id: string }[]
    expect(listed.map(({ id }) => id)).toContain(made.at('id'))
    expect((await ground.call('DELETE', place)).status).toBe(204)
    expect((await ground.call('DELETE', place)).status).toBe(404)
    expect(codeOf(await ground.call('GET', place))).toBe('NOT_FOUND')
  })

  it('no answer shows a path of the host', async () => {
    for (const path of [sandbox, `${sandbox}/files/list`, '/sandboxes'])
      expect((await ground.call('GET', path)).text).not.toMatch(/glovebox-server-|\/state\//)
  })

  it('a backend that the operator did not name is refused', async () => {
    for (const backend of ['local', 'docker', '../bwrap']) {
      const answer = await ground.call('POST', '/sandboxes', { body: { backend } })
      expect([backend, answer.status, codeOf(answer)]).toEqual([backend, 403, 'POLICY_ESCALATION'])
    }
  })

  it('under one Idempotency-Key there is one sandbox, however many ask at once', async () => {
    const ask = (body: object): Promise<Answered> =>
      ground.call('POST', '/sandboxes', { body, headers: { 'idempotency-key': 'one' } })
    const all = await Promise.all(Array.from({ length: 10 }, () => ask({ name: 'once' })))
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(all.map((each) => each.at('id'))).size).toBe(1)
    expect((await ask({ name: 'once' })).at('id')).toBe(all[0]?.at('id'))
    const other = await ask({ name: 'twice' })
    expect([other.status, codeOf(other)]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
  })

  it('ends when its life is over', async () => {
    const short = await makeSandbox({ lifeMs: 4000 })
    expect((await ground.call('GET', short)).status).toBe(200)
    await expect.poll(async () => (await ground.call('GET', short)).status).toBe(404)
    expect(codeOf(await ground.call('POST', '/sandboxes', { body: { lifeMs: 1e12 } }))).toBe('POLICY_ESCALATION')
  })
})

describe('a command', () => {
  it('that fails is a result and not an error', async () => {
    const answer = await command({ command: 'echo out; echo err >&2; exit 3' })
    expect([answer.status, answer.at('exitCode'), answer.at('stdout'), answer.at('stderr')]).toEqual([
      200,
      3,
      'out\n',
      'err\n',
    ])
  })

  it('gets its arguments, directory, environment and input as they were sent', async () => {
    const words = ['sh', '-c', 'pwd; echo "$1 $KEY"; cat', 'sh', 'a b']
    const answer = await command({ command: words, cwd: '/tmp', env: { KEY: 'value' }, stdin: 'in' })
    expect(answer.at('stdout')).toBe('/tmp\na b value\nin')
    const bytes = await command({ command: 'wc -c', stdinBase64: Buffer.from([0, 255, 10]).toString('base64') })
    expect(String(bytes.at('stdout')).trim()).toBe('3')
  })

  it.each([
    [{}, 400],
    [{ command: 'true', argv: ['true'] }, 400],
    [{ command: '' }, 400],
    [{ command: [] }, 400],
    [{ command: ['-x'] }, 400],
    [{ command: 'true', env: { 'A=B': 'x' } }, 400],
    [{ command: 'true', env: { A: 'x\0y' } }, 400],
    [{ command: 'true', cwd: '/etc' }, 403],
    [{ command: 'true', timeoutMs: 0 }, 400],
    [{ command: 'true', timeoutMs: 300_001 }, 403],
    [{ command: 'true', stdin: 'a', stdinBase64: 'YQ==' }, 400],
  ])('%j is refused with %i', async (body, status) => {
    expect((await command(body)).status).toBe(status)
  })

  it('is followed by its events, and its end tells how it ended', async () => {
    const answer = await command({ command: 'echo a; sleep 0.1; echo b >&2; echo c; exit 4' }, stream)
    const events = parseEvents(answer.text)
    expect([textOf(events, 'stdout'), textOf(events, 'stderr')]).toEqual(['a\nc\n', 'b\n'])
    expect(events.at(-1)).toMatchObject({ event: 'ended', data: { exitCode: 4 } })
  })

  it('what cannot be run is told as an error, before or in the stream', async () => {
    expect((await command({ command: ['-x'] }, stream)).text).toContain('INVALID_INPUT')
  })

  it('goes on when its reader leaves, and a reader that comes back gets every byte once', async () => {
    const lines = 3000
    const script = `i=0; while [ $i -lt ${lines} ]; do echo "line $i"; i=$((i+1)); [ $((i % 500)) = 0 ] && sleep 0.1; done`
    const left = await readSome(`${sandbox}/commands`, { command: script }, 2000)
    const events = [...left.events]
    const place = left.location.replace(/^.*\/sandboxes/, '/sandboxes')
    let last = events.at(-1)?.id ?? ''
    for (let turns = 0; turns < 50 && !last.endsWith('.end'); turns++) {
      const more = await readSome(place, undefined, 3000, last)
      events.push(...more.events)
      last = events.at(-1)?.id ?? last
    }
    const expected = Array.from({ length: lines }, (_, line) => `line ${line}\n`).join('')
    expect(textOf(events, 'stdout')).toBe(expected)
    expect(events.filter(({ event }) => event === 'ended')).toHaveLength(1)
    const after = await ground.call('GET', place, { headers: { 'last-event-id': last } })
    expect(after.status).toBe(204)
    expect(codeOf(await ground.call('GET', place, { headers: { 'last-event-id': 'x' } }))).toBe('INVALID_CURSOR')
  })

  it('runs in the background, and is cancelled with all that it started', async () => {
    const begun = await command({ command: 'sleep 60 & sleep 60; echo never', background: true })
    expect([begun.status, begun.at('status')]).toEqual([202, 'running'])
    const place = String(begun.headers['location'])
    const ended = await ground.call('DELETE', place)
    expect([ended.status, ended.at('result.ended.by')]).toEqual([200, 'cancel'])
    expect((await ground.call('DELETE', place)).at('result.ended.by')).toBe('cancel')
  })

  it('ends with the connection of whoever waits for its result', async () => {
    const beats = async (): Promise<number> => {
      const seen = await ground.call('GET', `${sandbox}/files/stat?path=beats`)
      return seen.status === 200 ? Number(seen.at('sizeBytes')) : 0
    }
    const leave = waitFor(`${sandbox}/commands`, { command: 'while :; do echo x >> beats; sleep 0.05; done' })
    await expect.poll(beats, { message: 'the control: it runs' }).toBeGreaterThan(0)
    leave()
    const standsStill = async (): Promise<boolean> => {
      const before = await beats()
      await new Promise((resolve) => setTimeout(resolve, 1000))
      return (await beats()) === before
    }
    await expect.poll(standsStill).toBe(true)
  })

  it('a reader that takes nothing neither holds the command back nor costs memory', async () => {
    const loud = await makeSandbox({ policy: { maxStdoutBytes: 10 * 1024 * 1024 } })
    const script = (reader: number): string => `head -c 4000000 /dev/zero | tr "\\0" a; touch /workspace/end-${reader}`
    const before = memoryMiB()
    const readers = await Promise.all(
      Array.from({ length: 20 }, (_, reader) => stalledReader(`${loud}/commands`, { command: script(reader) })),
    )
    const ended = async (): Promise<number> =>
      (await ground.call('GET', `${loud}/files/list`)).text.split('"end-').length - 1
    await expect.poll(ended, { timeout: 45_000, interval: 200 }).toBe(20)
    // 80 MB are kept for readers that come back; the rest is what 20 commands at once need while they run.
    expect(memoryMiB() - before).toBeLessThan(350)
    for (const leave of readers) leave()
    await ground.call('DELETE', loud)
  })

  it('output beyond the limit is cut and told, and the command is not held back', async () => {
    const answer = await command({ command: 'head -c 3000000 /dev/zero | tr "\\0" a; echo done >&2' }, stream)
    const events = parseEvents(answer.text)
    expect(textOf(events, 'stdout')).toHaveLength(1_048_576)
    expect(events.at(-1)?.data).toMatchObject({ stdoutTotalBytes: 3_000_000, stdoutTruncated: true, exitCode: 0 })
  })
})

/** Asks for the result of a command, and can go away before it comes. */
function waitFor(path: string, body: object): () => void {
  const headers = { authorization: `Bearer ${ground.token}`, 'content-type': 'application/json' }
  const sent = request(`${ground.url}${path}`, { method: 'POST', headers, agent: false })
  sent.on('error', () => {})
  sent.end(JSON.stringify(body))
  return () => sent.destroy()
}

/** Opens a stream and never reads it. */
async function stalledReader(path: string, body: object): Promise<() => void> {
  const response = await ground.open('POST', path, { body, headers: stream })
  return () => void response.destroy()
}

const memoryMiB = (): number => {
  const status = readFileSync(`/proc/${ground.server.child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

interface Some {
  readonly location: string
  readonly events: readonly SeenEvent[]
}

/** Reads at least so many bytes of a stream, then tears the connection. Only whole events count. */
async function readSome(path: string, body: object | undefined, bytes: number, last?: string): Promise<Some> {
  const method = body === undefined ? 'GET' : 'POST'
  const headers = { ...stream, ...(last === undefined ? {} : { 'last-event-id': last }) }
  const response = await ground.open(method, path, { ...(body === undefined ? {} : { body }), headers })
  let text = ''
  for await (const chunk of response) {
    text += String(chunk)
    if (text.length >= bytes) break
  }
  const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
  const heard = { status: response.statusCode ?? 0, header: headerOf(response), text: whole }
  expect(judgeHeard(ground.contract, { method, path }, heard)).toEqual([])
  return { location: String(response.headers.location), events: parseEvents(whole) }
}

describe('files', () => {
  const at = (path: string, more = ''): string => `${sandbox}/files?path=${encodeURIComponent(path)}${more}`

  it('bytes come back as they were put, whole and in ranges', async () => {
    const content = Buffer.from(Array.from({ length: 3 * 1024 * 1024 }, (_, index) => (index * 31) % 256))
    expect((await ground.call('PUT', at('/workspace/dir/b.bin'), { raw: content })).at('sizeBytes')).toBe(
      content.length,
    )
    const whole = await ground.call('GET', at('/workspace/dir/b.bin'))
    expect(whole.bytes.equals(content)).toBe(true)
    expect(whole.headers['content-disposition']).toContain('attachment')
    const ranges = [
      ['bytes=0-9', 0, 10],
      ['bytes=2000000-', 2_000_000, content.length],
      ['bytes=-5', content.length - 5, content.length],
      ['bytes=5-999999999', 5, content.length],
    ] as const
    for (const [range, from, to] of ranges) {
      const part = await ground.call('GET', at('/workspace/dir/b.bin'), { headers: { range } })
      expect([range, part.status, part.bytes.equals(content.subarray(from, to))]).toEqual([range, 206, true])
      expect(part.headers['content-range']).toBe(`bytes ${from}-${to - 1}/${content.length}`)
    }
    const beyond = await ground.call('GET', at('/workspace/dir/b.bin'), { headers: { range: 'bytes=99999999-' } })
    expect([beyond.status, codeOf(beyond), beyond.headers['content-range']]).toEqual([
      416,
      'RANGE_NOT_SATISFIABLE',
      `bytes */${content.length}`,
    ])
    const head = await ground.call('HEAD', at('/workspace/dir/b.bin'))
    expect([head.status, head.headers['content-length'], head.bytes.length]).toEqual([200, String(content.length), 0])
  })

  it('are appended to, and replaced only if they are as expected', async () => {
    await ground.call('PUT', at('log.txt'), { raw: 'a' })
    expect((await ground.call('PUT', at('log.txt', '&append=true'), { raw: 'b' })).at('sizeBytes')).toBe(2)
    expect((await ground.call('GET', at('log.txt'))).text).toBe('ab')
    const wrong = await ground.call('PUT', at('log.txt', `&expected_sha256=${'0'.repeat(64)}`), { raw: 'c' })
    expect([wrong.status, codeOf(wrong)]).toEqual([409, 'CONFLICT'])
    expect((await ground.call('PUT', at('log.txt', '&expected_sha256=none'), { raw: 'c' })).status).toBe(409)
    expect(codeOf(await ground.call('DELETE', at('log.txt')))).toBe('POLICY_DENIED')
  })

  it('an empty file is served whole', async () => {
    await ground.call('PUT', at('empty'), { raw: '' })
    const answer = await ground.call('GET', at('empty'))
    expect([answer.status, answer.bytes.length]).toEqual([200, 0])
  })

  it('a name that browsers would misread stays a name', async () => {
    const name = 'a"; filename="x.html\u202e\n😀.html'
    await ground.call('PUT', at(name), { raw: '<script>' })
    const { headers } = await ground.call('GET', at(name))
    expect(headers['content-type']).toBe('application/octet-stream')
    expect(headers['content-disposition']).toMatch(
      /^attachment; filename="[A-Za-z0-9._ -]*"; filename\*=UTF-8''[A-Za-z0-9%._-]+$/,
    )
  })
})

describe('an action', () => {
  it('is performed as the library performs it, and refused in the same words', async () => {
    const execute = (body: object): Promise<Answered> => ground.call('POST', `${sandbox}/execute`, { body })
    await execute({ action: 'write_text', input: { path: 'x.txt', text: 'one\ntwo\n' } })
    expect((await execute({ action: 'read_text', input: { path: 'x.txt' } })).at('output.text')).toContain('two')
    expect(codeOf(await execute({ action: 'raed_text', input: {} }))).toBe('UNKNOWN_ACTION')
    const bad = await execute({ action: 'read_text', input: { path: 'x.txt', more: 1 } })
    expect([bad.status, codeOf(bad)]).toEqual([400, 'INVALID_INPUT'])
    expect(codeOf(await execute({ action: 'read_text', input: { path: '/etc/shadow' } }))).toBe('OUTSIDE_MOUNTS')
  })
})

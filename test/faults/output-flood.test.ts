// Callers whose commands run on and say more than anybody keeps. A real server, and what its memory grew by.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'

const mebibyte = 1024 * 1024
const each = 10 * mebibyte
const patienceMs = 120_000
const eachSandbox = 28

let ground: ServerGround
afterEach(async () => {
  await ground.stop()
})

const begin = async (limits: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<void> => {
  ground = await startServer({ flags: ['--grace', '1s', ...limits.flatMap((limit) => ['--limit', limit])], env })
}

/** A sandbox with the file `a`, of as many bytes as one output may have. */
async function makeSandbox(token: string): Promise<string> {
  const policy = { maxStdoutBytes: each, maxStderrBytes: each }
  const made = await ground.call('POST', '/sandboxes', { token, body: { policy } })
  const sandbox = `/sandboxes/${String(made.at('id'))}`
  const command = `head -c ${each} /dev/zero | tr "\\0" a > a`
  expect((await ground.call('POST', `${sandbox}/commands`, { token, body: { command } })).at('exitCode')).toBe(0)
  return sandbox
}

const touch = async (sandbox: string, name: string, token: string): Promise<void> => {
  await ground.call('PUT', `${sandbox}/files?path=/workspace/${name}`, { token, raw: 'x' })
}
const namesIn = async (sandbox: string, token: string): Promise<string> =>
  (await ground.call('GET', `${sandbox}/files/list`, { token })).text

const until = (name: string): string => `until [ -e ${name} ]; do sleep 0.2; done`
const inBackground = (sandbox: string, command: string, token: string): Promise<Answered> =>
  ground.call('POST', `${sandbox}/commands`, { token, body: { command, background: true, timeoutMs: 300_000 } })

/** Asks for the result of a command, and takes nothing of it. */
async function waitWithoutReading(path: string, body: object): Promise<() => void> {
  const socket = connect(ground.port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  const text = JSON.stringify(body)
  const head = [`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${ground.port}`, `Authorization: Bearer ${ground.token}`]
  const type = ['Content-Type: application/json', `Content-Length: ${text.length}`]
  socket.write([...head, ...type, '', text].join('\r\n'))
  return () => socket.destroy()
}

const memoryMiB = (name: 'VmRSS' | 'VmHWM'): number => {
  const status = readFileSync(`/proc/${ground.server.child.pid}/status`, 'utf8')
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024
}

describe('the output of commands that run', () => {
  it('of one token has a share of memory: beyond it they are cut and told so, and others are served', async () => {
    await begin()
    const token = await ground.makeToken('exec', 'flood')
    const other = await ground.makeToken('exec', 'other')
    const sandboxes = [await makeSandbox(token), await makeSandbox(token), await makeSandbox(token)]
    const quiet = await makeSandbox(other)
    const places: string[] = []
    for (const sandbox of sandboxes)
      for (let number = 0; number < eachSandbox; number++) {
        const say = `${until('go')}; cat a; cat a >&2; touch said-${number}; ${until('end')}`
        const begun = await inBackground(sandbox, say, token)
        expect([begun.status, begun.at('status')]).toEqual([202, 'running'])
        places.push(String(begun.headers['location']))
      }
    const before = memoryMiB('VmRSS')
    writeFileSync(`/proc/${ground.server.child.pid}/clear_refs`, '5')
    for (const sandbox of sandboxes) await touch(sandbox, 'go', token)
    // They say 1,680 MiB together, and are not held back.
    for (const sandbox of sandboxes)
      await expect
        .poll(async () => (await namesIn(sandbox, token)).split('"said-').length - 1, { timeout: patienceMs })
        .toBe(eachSandbox)
    const grown = memoryMiB('VmHWM') - before
    const [sandbox = ''] = sandboxes
    const refused = await inBackground(sandbox, 'touch begun', token)
    expect([refused.status, codeOf(refused), refused.headers['retry-after']]).toEqual([429, 'QUOTA_EXCEEDED', '1'])
    const served = await inBackground(quiet, 'cat a; cat a >&2', other)
    expect(served.status).toBe(202)
    const result = async (place: string, by: string) => ground.call('GET', place, { token: by })
    const place = String(served.headers['location'])
    await expect.poll(async () => (await result(place, other)).at('status'), { timeout: patienceMs }).toBe('ended')
    const whole = await result(place, other)
    expect([whole.at('result.stdoutTruncated'), whole.at('result.stderrTruncated')]).toEqual([false, false])
    expect(String(whole.at('result.stderr'))).toHaveLength(each)

    for (const loud of sandboxes) await touch(loud, 'end', token)
    let kept = 0
    const told: unknown[] = []
    for (const one of places) {
      await expect.poll(async () => (await result(one, token)).at('status'), { timeout: patienceMs }).toBe('ended')
      const answer = await result(one, token)
      for (const stream of ['stdout', 'stderr']) {
        const { length } = String(answer.at(`result.${stream}`))
        kept += length
        const isCut = answer.at(`result.${stream}Truncated`)
        if (answer.at(`result.${stream}TotalBytes`) !== each || isCut !== length < each)
          told.push([stream, length, isCut])
      }
    }
    expect(told).toEqual([])
    expect(kept).toBeLessThanOrEqual(128 * mebibyte)
    expect(kept).toBeGreaterThan(0)
    expect(await namesIn(sandbox, token)).not.toContain('begun')
    await expect.poll(async () => (await inBackground(sandbox, 'true', token)).status).toBe(202)
    // The rest is what buffers that grew leave behind until they are collected, and the pipes of so many commands.
    expect(grown).toBeLessThan(128 + 192)
  })

  it('counts no longer when their sandbox is deleted', async () => {
    await begin([`outputBytesPerToken=${4 * mebibyte}`])
    const { token } = ground
    const [sandbox, next] = [await makeSandbox(token), await makeSandbox(token)]
    const say = `cat a; touch said; ${until('end')}`
    expect((await inBackground(sandbox, say, token)).status).toBe(202)
    await expect.poll(() => namesIn(sandbox, token), { timeout: patienceMs }).toContain('"said"')
    expect(codeOf(await inBackground(next, 'true', token))).toBe('QUOTA_EXCEEDED')
    expect((await ground.call('DELETE', sandbox)).status).toBe(204)
    await expect.poll(async () => (await inBackground(next, 'true', token)).status).toBe(202)
  })

  it('that is waited for counts until it is taken', async () => {
    await begin([`outputBytesPerToken=${4 * mebibyte}`, 'stalledMs=600000'])
    const { token } = ground
    const sandbox = await makeSandbox(token)
    const loud = { command: 'cat a' }
    const answer = await ground.call('POST', `${sandbox}/commands`, { body: loud })
    expect([answer.at('stdoutTotalBytes'), answer.at('stdoutTruncated')]).toEqual([each, true])
    expect(String(answer.at('stdout')).length).toBeLessThan(4 * mebibyte)
    const leave = await waitWithoutReading(`${sandbox}/commands`, { command: 'cat a; touch said' })
    await expect.poll(() => namesIn(sandbox, token), { timeout: patienceMs }).toContain('"said"')
    expect(codeOf(await ground.call('POST', `${sandbox}/commands`, { body: loud }))).toBe('QUOTA_EXCEEDED')
    leave()
    const again = async () => (await ground.call('POST', `${sandbox}/commands`, { body: loud })).status
    await expect.poll(again, { timeout: patienceMs }).toBe(200)
  })

  it('that was waited for is not kept by its shell', async () => {
    // What is free to be collected must not be taken for what is kept.
    await begin([], { NODE_OPTIONS: '--max-old-space-size=300' })
    const { token } = ground
    const sandbox = await makeSandbox(token)
    const before = memoryMiB('VmRSS')
    for (let shells = 0; shells < 10; shells++) {
      const shell = String((await ground.call('POST', `${sandbox}/shells`, { body: {} })).headers['location'])
      for (let commands = 0; commands < 4; commands++) {
        const said = await ground.call('POST', `${shell}/commands`, { body: { command: 'cat a; cat a >&2' } })
        expect([said.at('stdoutTruncated'), said.at('stderrTruncated')]).toEqual([false, false])
        expect(String(said.at('stderr'))).toHaveLength(each)
      }
      const last = await ground.call('GET', `${shell}/wait`)
      expect([last.at('result.stdoutTotalBytes'), last.at('result.stdoutTruncated')]).toEqual([each, true])
    }
    // They said 800 MiB together.
    expect(memoryMiB('VmRSS') - before).toBeLessThan(500)
  })

  it('of a shell counts like any other', async () => {
    await begin([`outputBytesPerToken=${4 * mebibyte}`])
    const { token } = ground
    const sandbox = await makeSandbox(token)
    const shell = String((await ground.call('POST', `${sandbox}/shells`, { body: {} })).headers['location'])
    const command = `cat a; touch said; ${until('end')}`
    const begun = await ground.call('POST', `${shell}/commands`, { body: { command, background: true } })
    expect(begun.status).toBe(202)
    await expect.poll(() => namesIn(sandbox, token), { timeout: patienceMs }).toContain('"said"')
    const more = await ground.call('POST', `${shell}/commands`, { body: { command: 'true', background: true } })
    expect([more.status, codeOf(more)]).toEqual([429, 'QUOTA_EXCEEDED'])
    await touch(sandbox, 'end', token)
    const ended = async () => ground.call('GET', String(begun.headers['location']))
    await expect.poll(async () => (await ended()).at('status'), { timeout: patienceMs }).toBe('ended')
    expect((await ended()).at('result.stdoutTruncated')).toBe(true)
    expect((await ground.call('POST', `${shell}/commands`, { body: { command: 'true' } })).status).toBe(200)
    expect((await inBackground(sandbox, 'true', token)).status).toBe(202)
  })
})

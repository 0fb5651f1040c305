// Requests that cross each other: whatever is ended while it is used, each of them has one of the answers that are written down for it.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let ground: ServerGround

beforeAll(async () => {
  ground = await startServer({ flags: ['--grace', '1s', '--log-level', 'error'] })
})
afterAll(async () => {
  await ground.stop()
})

const makeSandbox = async (): Promise<string> => {
  const made = await ground.call('POST', '/sandboxes')
  if (made.status !== 201) throw new Error(made.text)
  return `/sandboxes/${String(made.at('id'))}`
}
const run = (sandbox: string, command: string): Promise<Answered> =>
  ground.call('POST', `${sandbox}/commands`, { body: { command } })
const told = (answer: Answered): string => `${answer.status}${answer.status < 400 ? '' : ` ${String(codeOf(answer))}`}`

describe('a sandbox that is deleted while it is used', () => {
  it('each request has its result, or is told that it is gone; nothing is a fault', async () => {
    const seen = new Set<string>()
    for (const pauseMs of [0, 2, 8, 30, 100]) {
      const sandbox = await makeSandbox()
      const file = `${sandbox}/files?path=/workspace/large`
      await ground.call('PUT', file, { raw: Buffer.alloc(4 * 1024 * 1024, 'x') })
      const using = [
        run(sandbox, 'sleep 0.05; echo out'),
        // A download that is cut off is seen as one.
        ground.call('GET', file).catch(() => undefined),
        ground.call('PUT', `${sandbox}/files?path=/workspace/new`, { raw: 'x' }),
        ground.call('POST', `${sandbox}/execute`, { body: { action: 'stat', input: { path: 'large' } } }),
        ground.call('POST', `${sandbox}/shells`, { body: {} }),
        ground.call('POST', `${sandbox}/pause`),
      ]
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const deleting = [1, 2, 3].map(() => ground.call('DELETE', sandbox))
      const late = [
        run(sandbox, 'true'),
        ground.call('GET', sandbox),
        ground.call('POST', `${sandbox}/fork`, { body: {} }),
      ]
      const answers = await Promise.all([...using, ...deleting, ...late])
      for (const answer of answers) if (answer !== undefined) seen.add(told(answer))
      expect((await ground.call('GET', sandbox)).status).toBe(404)
      expect(told(await run(sandbox, 'true'))).toBe('404 NOT_FOUND')
    }
    expect([...seen].filter((each) => !/^(?:20[0-4]|40[49] |410 |423 )/.test(each))).toEqual([])
    expect(ground.log()).toBe('')
    // Control: they did cross.
    expect([...seen].some((each) => each.startsWith('404'))).toBe(true)
    expect([...seen].some((each) => each.startsWith('200'))).toBe(true)
  })

  it('what is cancelled from many sides at once ends once', async () => {
    const body = { project_id: 'races', exec: { kind: 'shell', command: 'sleep 60' } }
    const exec = await ground.call('POST', '/sandbox/execs?wait=false', { body })
    const path = `/sandbox/execs/${String(exec.at('exec_id'))}`
    const cancelled = await Promise.all(Array.from({ length: 10 }, () => ground.call('POST', `${path}/cancel`)))
    expect(new Set(cancelled.map((answer) => `${answer.status} ${String(answer.at('status'))}`))).toEqual(
      new Set(['200 CANCELLED']),
    )
    expect(new Set(cancelled.map((answer) => answer.at('ended_at'))).size).toBe(1)
    const begun = await ground.call('POST', '/runs', { body: { prompt: 'x', command: ['sleep', '60'] } })
    const place = `/runs/${String(begun.at('run_id'))}/cancel`
    const both = await Promise.all([1, 2, 3, 4].map(() => ground.call('POST', place)))
    expect(both.filter((answer) => answer.status !== 200 && answer.status !== 409).map(told)).toEqual([])
    expect((await ground.call('POST', place)).at('status')).toBe('cancelled')
  })
})

describe('a fault of the host', () => {
  it('is told with an id and nothing of the host, and to the operator with its cause', async () => {
    const body = { project_id: 'faults', exec: { kind: 'shell', command: 'echo out' } }
    const exec = await ground.call('POST', '/sandbox/execs', { body })
    const place = join(ground.data, 'workspace', String(exec.at('artifacts_dir')))
    rmSync(place, { recursive: true })
    writeFileSync(place, 'where a directory was')
    const answer = await ground.call('GET', `/sandbox/execs/${String(exec.at('exec_id'))}/artifacts`)
    expect([answer.status, codeOf(answer)]).toEqual([500, 'INTERNAL'])
    const text = JSON.stringify(answer.headers) + answer.text
    for (const inside of [ground.data, 'workspace', 'node:', '.cjs', 'ENOTDIR', ' at ', 'select'])
      expect([inside, text.includes(inside)]).toEqual([inside, false])
    const requestId = String(answer.at('error.requestId'))
    expect(requestId).toBe(answer.headers['x-request-id'])
    const lineOf = (): string | undefined =>
      ground
        .log()
        .split('\n')
        .find((each) => each.includes(requestId))
    await expect.poll(lineOf).toBeDefined()
    expect(JSON.parse(lineOf() ?? '{}')).toMatchObject({ level: 'error', detail: expect.stringContaining(place) })
  })
})

// A caller that goes away while something is made for it leaves nothing behind that nobody knows of.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChaosProxy, openChaosProxy } from '../fixtures/chaos-proxy.ts'
import { client, openClientGround, type ClientGround } from './client-ground.ts'
import { start } from './command-line.ts'

let ground: ClientGround
let proxy: ChaosProxy
beforeAll(async () => {
  proxy = await openChaosProxy()
  ground = await openClientGround({ flags: ['--allow-host', `127.0.0.1:${proxy.port}`] })
  proxy.aim(ground)
  ground.judgeAt(proxy.url)
})
afterAll(async () => {
  await proxy.close()
  await ground[Symbol.asyncDispose]()
})

const straight = () => client.connect({ url: ground.url, token: ground.token })
/** The next answer crawls, so that what it tells of is there long before it. */
async function slowly(bytesPerSecond: number) {
  await proxy.sever()
  const begun = proxy.connections
  proxy.behave((connection) => (connection === begun ? { kind: 'slow', bytesPerSecond } : { kind: 'none' }))
  return client.connect({ url: proxy.url, token: ground.token })
}
const soon = { timeout: 30_000 }
const sandboxes = async (): Promise<number> => (await straight().sandboxes.list()).items.length

describe('a caller that cancels while its answer is on the way', () => {
  it('hears so at once, and the sandbox that was made is ended', async () => {
    const stop = new AbortController()
    const making = (await slowly(500)).sandboxes.create({ signal: stop.signal })
    making.catch(() => {})
    await expect.poll(sandboxes, soon).toBe(1)
    stop.abort()
    await expect(making).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect.poll(sandboxes, soon).toBe(0)
  })

  it('is left its sandbox of a key, which it finds again', async () => {
    const stop = new AbortController()
    const making = (await slowly(500)).sandboxes.create({ key: 'mine', signal: stop.signal })
    making.catch(() => {})
    await expect.poll(sandboxes, soon).toBe(1)
    stop.abort()
    await expect(making).rejects.toMatchObject({ code: 'CANCELLED' })
    const found = await straight().sandboxes.create({ key: 'mine' })
    expect((await straight().sandboxes.list()).items.map(({ id }) => id)).toEqual([found.id])
    await found.kill()
  })

  it('is given the record of its exec, which says that it was cancelled', async () => {
    const stop = new AbortController()
    const request = { project_id: 'demo', exec: { kind: 'shell', command: 'sleep 1000' } } as const
    const running = (await slowly(200)).execs.run(request, { signal: stop.signal })
    const { execs } = straight()
    await expect.poll(async () => (await execs.list({ project_id: 'demo' })).items[0]?.status, soon).toBe('RUNNING')
    stop.abort()
    expect(await running).toMatchObject({ status: 'CANCELLED' })
  })

  it('cancels no exec that a key of its own names', async () => {
    const request = { project_id: 'keyed', exec: { kind: 'shell', command: 'sleep 1000' } } as const
    const { execs } = straight()
    const { exec_id } = await execs.create(request, { idempotencyKey: 'mine' })
    const stop = new AbortController()
    const crawling = await slowly(50)
    const begun = proxy.connections
    const again = crawling.execs.create(request, { idempotencyKey: 'mine', signal: stop.signal })
    again.catch(() => {})
    await expect.poll(() => proxy.connections - begun, soon).toBe(1)
    stop.abort()
    await expect(again).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(['QUEUED', 'STARTING', 'RUNNING']).toContain((await execs.get(exec_id)).status)
    expect(await execs.cancel(exec_id)).toMatchObject({ exec_id })
  })

  it('at the command line ends the sandbox before it goes', async () => {
    await slowly(500)
    const asked = start(['exec', '--server', proxy.url, '--', 'sleep', '1000'], {
      cwd: ground.project.directory,
      env: { GLOVEBOX_TOKEN: ground.token },
    })
    await expect.poll(sandboxes, soon).toBe(1)
    asked.child.kill('SIGINT')
    expect((await asked.finished).code).toBe(130)
    expect(await sandboxes()).toBe(0)
  })
})

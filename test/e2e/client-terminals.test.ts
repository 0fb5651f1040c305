// A person's connection to a terminal over a network that goes silent: nobody waits for ever, and the terminal goes on.
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { AttachOptions, Attachment, ServerOptions, SocketLike } from '../../src/client/index.ts'
import { type ChaosProxy, type Mischief, openChaosProxy } from '../fixtures/chaos-proxy.ts'
import { client, openClientGround, type ClientGround, type ClientSandbox } from './client-ground.ts'

let ground: ClientGround
let proxy: ChaosProxy
let sandbox: ClientSandbox
beforeAll(async () => {
  proxy = await openChaosProxy()
  ground = await openClientGround({
    flags: `--allow-host 127.0.0.1:${proxy.port} --limit heartbeatMs=100 --limit stalledMs=600000`.split(' '),
  })
  proxy.aim(ground)
  ground.judgeAt(proxy.url)
  sandbox = await client.Sandbox.create({ url: ground.url, token: ground.token })
})
afterAll(async () => {
  await proxy.close()
  await sandbox.kill()
  await ground[Symbol.asyncDispose]()
})

const openSocket = (url: string, protocols: readonly string[], origin: string): SocketLike =>
  new WebSocket(url, [...protocols], { origin }) as unknown as SocketLike

/** A ticket is asked for on a connection of its own, and well; the WebSocket comes behind it. */
async function attach(
  shell: string,
  mischief: Mischief,
  { answerMs, silentMs, ...options }: Partial<ServerOptions> & AttachOptions = {},
): Promise<Attachment> {
  await proxy.sever()
  const begun = proxy.connections
  proxy.behave((connection) => (connection === begun ? { kind: 'none' } : mischief))
  const limits = { ...(answerMs === undefined ? {} : { answerMs }), ...(silentMs === undefined ? {} : { silentMs }) }
  const { terminals } = client.connect({ url: proxy.url, token: ground.token, ...limits })
  return terminals.attach(sandbox.id, shell, { openSocket, ...options })
}

const open = (script: string) => sandbox.shells.open({ pty: true, argv: ['/bin/sh', '-c', script] })

interface Read {
  text: string
  offset: number
}

/** To its end, into `read`. */
async function follow({ chunks }: Attachment, read: Read, onMore: () => void = () => {}): Promise<void> {
  for await (const { offset, bytes } of chunks) {
    expect(offset).toBe(read.offset)
    read.text += Buffer.from(bytes).toString()
    read.offset += bytes.length
    onMore()
  }
}

describe('a connection to a terminal', () => {
  it('that goes silent is given up, and come back to behind the last byte', async () => {
    const terminal = await open('printf one; read a; head -c 20000 /dev/zero | tr "\\0" x; printf two; read b; exit 3')
    const silent = await attach(terminal.id, { kind: 'drop', afterBytes: 4000 }, { silentMs: 3000, from: 0 })
    const read: Read = { text: '', offset: 0 }
    await expect(
      follow(silent, read, () => {
        if (read.text === 'one') silent.write(Buffer.from('\r'))
      }),
    ).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' })
    expect(read.offset).toBeLessThan(20_000)
    const again = await attach(terminal.id, { kind: 'none' }, { from: read.offset })
    await follow(again, read, () => {
      if (read.text.endsWith('two')) again.write(Buffer.from('\r'))
    })
    expect(read.text).toBe(`one\r\n${'x'.repeat(20_000)}two\r\n`)
    expect(again.ended).toMatchObject({ exitCode: 3 })
  })

  it('is kept while the server lives, however long the program says nothing', async () => {
    const terminal = await open('printf one; read a; printf two; exit 4')
    const read: Read = { text: '', offset: 0 }
    const attached = await attach(terminal.id, { kind: 'none' }, { silentMs: 3000, from: 0 })
    const following = follow(attached, read)
    await expect.poll(() => read.text, { timeout: 20_000 }).toBe('one')
    await delay(4500)
    attached.write(Buffer.from('\r'))
    await following
    expect([read.text, attached.ended?.exitCode]).toEqual(['one\r\ntwo', 4])
  })

  it('that is never answered is told so, and one that nobody wants any more is left', async () => {
    const terminal = await open('printf one; read a; exit 5')
    const never: Mischief = { kind: 'drop', afterBytes: 0 }
    await expect(attach(terminal.id, never, { answerMs: 3000 })).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('3000 ms'),
    })
    const stop = new AbortController()
    const begun = proxy.connections
    const unanswered = attach(terminal.id, never, { signal: stop.signal })
    unanswered.catch(() => {})
    await expect.poll(() => proxy.connections - begun, { timeout: 20_000 }).toBe(2)
    stop.abort()
    await expect(unanswered).rejects.toMatchObject({ code: 'CANCELLED' })

    const leave = new AbortController()
    const attached = await attach(terminal.id, { kind: 'none' }, { signal: leave.signal, from: 0 })
    const read: Read = { text: '', offset: 0 }
    await expect(follow(attached, read, () => leave.abort())).rejects.toMatchObject({ code: 'CANCELLED' })
    expect((await terminal.inspect()).status).toBe('busy')
    await expect(attach(terminal.id, { kind: 'none' }, { signal: leave.signal })).rejects.toMatchObject({
      code: 'CANCELLED',
    })
    await terminal.close()
  })
})

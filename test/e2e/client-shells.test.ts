// `sandbox.shells` from afar has the library's shape: the same calls, the same answers, over a server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { SocketLike } from '../../src/client/index.ts'
import { client, openClientGround, type ClientGround, type ClientSandbox } from './client-ground.ts'
import { follow, openViewer } from './terminal-ground.ts'

let ground: ClientGround
let sandbox: ClientSandbox
beforeAll(async () => {
  ground = await openClientGround()
  sandbox = await client.Sandbox.create({ url: ground.url, token: ground.token })
})
afterAll(async () => {
  await sandbox.kill()
  await ground[Symbol.asyncDispose]()
})

describe('a shell of a server', () => {
  it('keeps its state, streams what it says, and tells how each command ended', async () => {
    const shell = await sandbox.shells.open({ env: { COLOUR: 'red' } })
    const heard: string[] = []
    const first = await shell.exec('cd /tmp; kept=1; echo $COLOUR; echo wrong >&2', {
      onStdout: (chunk) => void heard.push(Buffer.from(chunk).toString()),
    })
    expect([first.stdout, first.stderr, first.exitCode, first.state, first.number, heard.join('')]).toEqual([
      'red\n',
      'wrong\n',
      0,
      'kept',
      1,
      'red\n',
    ])
    const untilTold = 'while [ ! -e /workspace/go ]; do sleep 0.02; done'
    const { number, result } = await shell.start(`echo "$kept $PWD"; ${untilTold}; (exit 4)`)
    expect(number).toBe(2)
    expect((await shell.wait({ number, waitMs: 0 })).done).toBe(false)
    await sandbox.files.write('/workspace/go', '')
    expect(await shell.wait({ waitMs: 20_000 })).toMatchObject({ done: true, result: { number: 2, exitCode: 4 } })
    expect(await result).toMatchObject({ stdout: '1 /tmp\n', exitCode: 4, number: 2, shellId: shell.id })
    expect(await shell.inspect()).toMatchObject({ id: shell.id, kind: 'commands', commands: 2, status: 'idle' })
    expect((await sandbox.shells.list()).map(({ id }) => id)).toContain(shell.id)
    const late = await shell.exec('sleep 100', { timeoutMs: 200 })
    expect([late.ended.by, late.exitCode]).toEqual(['timeout', 124])
    const again = await sandbox.shells.get(shell.id)
    expect(again.kind === 'commands' && (await again.exec('echo $kept')).stdout).toBe('1\n')
    await shell.close()
    await shell.close()
    await expect(shell.exec('true')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('a command is ended with its caller’s signal, and the shell stays', async () => {
    await using shell = await sandbox.shells.open()
    const stop = new AbortController()
    const running = shell.exec('echo begun; sleep 100', { signal: stop.signal, onStdout: () => stop.abort() })
    expect((await running).ended.by).toBe('cancel')
    expect((await shell.exec('echo here')).stdout).toBe('here\n')
    await expect(shell.exec('true', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})

describe('a client that waits no longer for an answer than what is waited for lasts', () => {
  it('takes the wait that it asked for as no delay of the server', async () => {
    const brisk = await client.Sandbox.connect({
      url: ground.url,
      token: ground.token,
      id: sandbox.id,
      answerMs: 3000,
      retry: { retries: 0 },
    })
    const shell = await brisk.shells.open()
    const { number } = await shell.start('sleep 5; echo late')
    expect(await shell.wait({ number, waitMs: 20_000 })).toMatchObject({ done: true, result: { stdout: 'late\n' } })
    const terminal = await brisk.shells.open({ pty: true, argv: ['/bin/sh', '-c', 'sleep 5; exit 6'] })
    expect(await terminal.ended).toMatchObject({ exitCode: 6 })
    await shell.close()
  })
})

describe('a terminal of a server', () => {
  it('is read, written, resized and seen without a WebSocket', async () => {
    const size = { cols: 70, rows: 12 }
    const terminal = await sandbox.shells.open({ pty: size, argv: ['/bin/sh'] })
    const viewer = openViewer(size)
    const following = follow(viewer, terminal.read())
    await terminal.write('echo one; stty size\r')
    await viewer.until('the size', (screen) => screen.includes('12 70'))
    await terminal.resize({ cols: 90, rows: 20 })
    viewer.resize({ cols: 90, rows: 20 })
    await terminal.write('stty size\r')
    await viewer.until('the new size', (screen) => screen.includes('20 90'))
    expect(Buffer.from((await terminal.screen()).bytes).toString()).toContain('20 90')
    await terminal.write('exit 8\r')
    expect(await terminal.ended).toEqual({ ended: { by: 'exit', code: 8 }, exitCode: 8 })
    await following
    await terminal.close()
  })

  it('is attached to over a WebSocket, left, and come back to behind the last byte', async () => {
    const { terminals } = client.connect({ url: ground.url, token: ground.token })
    const terminal = await sandbox.shells.open({
      pty: true,
      argv: ['/bin/sh', '-c', 'echo one; read a; echo two; read b; exit 3'],
    })
    const openSocket = (url: string, protocols: readonly string[], origin: string): SocketLike =>
      new WebSocket(url, [...protocols], { origin }) as unknown as SocketLike
    const first = await terminals.attach(sandbox.id, terminal.id, { from: 0, openSocket })
    let from = 0
    for await (const { offset, bytes } of first.chunks) {
      from = offset + bytes.length
      if (from >= 'one\r\n'.length) break
    }
    first.close()
    const second = await terminals.attach(sandbox.id, terminal.id, { from, openSocket })
    second.write(Buffer.from('\r\r'))
    let text = ''
    for await (const { bytes } of second.chunks) text += Buffer.from(bytes).toString()
    expect(text.replaceAll('\r\n', ' ').trim()).toBe('two')
    expect(second.ended).toEqual({ ended: { by: 'exit', code: 3 }, exitCode: 3 })
    await expect(
      terminals.attach(sandbox.id, 'sh_00000000000000000000000000000000', { openSocket }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

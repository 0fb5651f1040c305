// Images that are built anew, removed and brought back under a running server, as an operator does who builds and prunes. And more
// images than a server keeps in hand.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import type { ExecHealth } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { shell, type ExecServer } from '../fixtures/exec-server.ts'
import { busyboxImage, containersAt, dockerHasImage, execTarget } from './exec-targets.ts'
import { ended, serversOn, textOf, until } from './lasting-execs.ts'

const docker = (...args: readonly string[]): string => execFileSync('docker', args, { encoding: 'utf8' }).trim()

/** Of this run alone. */
const repository = `glovebox/test-image-${randomBytes(6).toString('hex')}`

/** Tells which one it is. Its id. */
function build(image: string, mark: string): string {
  const container = docker('create', busyboxImage)
  try {
    const bash = '#!/bin/sh\nexec /bin/sh "$@"\n'
    const files = [
      { name: 'bin/bash', mode: 0o755, text: bash },
      { name: 'which', mode: 0o644, text: `${mark}\n` },
    ]
    execFileSync('docker', ['cp', '-', `${container}:/`], { input: archive(files) })
    return docker('commit', container, image)
  } finally {
    docker('rm', '-f', container)
  }
}

interface Packed {
  readonly name: string
  readonly mode: number
  readonly text: string
}

/** In the oldest format of tar. */
function archive(files: readonly Packed[]): Buffer {
  const blocks = files.flatMap(({ name, mode, text }) => {
    const head = Buffer.alloc(512)
    head.write(name, 0)
    head.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
    for (const at of [108, 116]) head.write('0000000\0', at)
    head.write(`${text.length.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0`, 124)
    head.write('        0', 148)
    const sum = head.reduce((total, byte) => total + byte, 0)
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [head, Buffer.from(text.padEnd(Math.ceil(text.length / 512) * 512, '\0'))]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

const which = shell('cat /which')
const isReady = async (server: ExecServer): Promise<number> => (await server.fetch('/readyz', { token: null })).status
const health = async (server: ExecServer): Promise<ExecHealth> =>
  (await server.ask('GET', '/sandbox/health')).json as ExecHealth

/** A container that has ended keeps its image until it is taken away. */
async function remove(server: ExecServer, ...images: readonly string[]): Promise<void> {
  await until(() => containersAt(server.place).length === 0)
  docker('rmi', ...images)
}

const unavailable = { status: 'FAILED', exit_code: null, error_reason: 'backend_unavailable' }

describe.skipIf(!dockerHasImage(busyboxImage) && !isRequired('docker'))('an image under a running server', () => {
  // Behind the servers of this test, whose containers have them.
  afterEach(() => {
    const left = docker('images', '--format', '{{.Repository}}:{{.Tag}}', repository).split('\n').filter(Boolean)
    if (left.length > 0) spawnSync('docker', ['rmi', '-f', ...left], { stdio: 'ignore' })
  })
  const start = serversOn(execTarget('docker'))

  it('that was built anew is used when the old one is removed, and the old one is until then', async () => {
    const image = `${repository}:server`
    const old = build(image, 'one')
    const server = await start({ settings: `docker:\n  image: ${image}\n` })
    const built = build(image, 'two')
    const before = await server.exec(which)
    expect([textOf(server, before.stdout_path), before.image, before.image_id]).toEqual(['one\n', image, old])
    await remove(server, old)
    // The first may be the one that finds it out. It ran in no other one than was looked at, and so not at all.
    const first = await server.exec(which)
    expect(first).toMatchObject(unavailable)
    const next = await server.exec(which)
    expect(next).toMatchObject({ status: 'SUCCEEDED', image, image_id: built })
    expect(textOf(server, next.stdout_path)).toBe('two\n')
    expect(await isReady(server)).toBe(200)
  })

  it('that was built anew, and the old one removed, is found by whoever asks whether the server is ready', async () => {
    const image = `${repository}:asked`
    const old = build(image, 'one')
    const server = await start({ settings: `docker:\n  image: ${image}\n` })
    build(image, 'two')
    await remove(server, old)
    // What was just seen is not looked at.
    await new Promise((resolve) => setTimeout(resolve, 3500))
    expect(await isReady(server)).toBe(200)
    expect(textOf(server, (await server.exec(which)).stdout_path)).toBe('two\n')
  })

  it('that is removed is told by readyz and health, refuses what is new, and is used when it is back', async () => {
    const image = `${repository}:removed`
    build(image, 'one')
    const server = await start({ settings: `docker:\n  image: ${image}\n` })
    expect(await isReady(server)).toBe(200)
    docker('rmi', image)
    await expect.poll(() => isReady(server), { timeout: 60_000 }).toBe(503)
    const told = await health(server)
    expect(told.status).toBe('degraded')
    expect(told.backends[0]).toMatchObject({ available: false, reason: `the image ${image} is not there` })
    expect(told.backends[0]?.fix).toEqual(expect.any(String))
    expect(await server.exec(which)).toMatchObject(unavailable)
    const sandbox = await server.ask('POST', '/sandboxes', { body: {} })
    expect([sandbox.status, sandbox.text]).toEqual([503, expect.stringContaining('BACKEND_UNAVAILABLE')])
    build(image, 'two')
    await expect.poll(() => isReady(server), { timeout: 60_000 }).toBe(200)
    expect(textOf(server, (await server.exec(which)).stdout_path)).toBe('two\n')
    await expect.poll(async () => (await health(server)).status, { timeout: 60_000 }).toBe('ok')
    const made = await server.ask('POST', '/sandboxes', { body: {} })
    expect(made.status, made.text).toBe(201)
  })

  it('that an exec asks for is refused while it is removed, and used when it is back', async () => {
    const image = `${repository}:own`
    build(image, 'one')
    const server = await start()
    const asked = { ...which, image }
    expect(textOf(server, (await server.exec(asked)).stdout_path)).toBe('one\n')
    await remove(server, image)
    expect(await server.exec(asked)).toMatchObject(unavailable)
    const refused = await server.ask('POST', '/sandbox/execs', { body: asked })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('is not there')])
    expect(await isReady(server)).toBe(200)
    build(image, 'two')
    const exec = await server.begin(asked)
    expect(await server.until(exec.exec_id, ended)).toMatchObject({ status: 'SUCCEEDED' })
    expect(textOf(server, exec.stdout_path)).toBe('two\n')
  })

  it('more images than are kept in hand leave nothing open, and those that go out of it still serve', async () => {
    build(`${repository}:0`, 'one')
    const images = Array.from({ length: 40 }, (_, number) => `${repository}:${number}`)
    for (const image of images.slice(1)) docker('tag', `${repository}:0`, image)
    const server = await start()
    const opened = (): number =>
      readdirSync(`/proc/${server.pid}/fd`).filter((fd) => {
        try {
          return readlinkSync(`/proc/${server.pid}/fd/${fd}`) === '/dev/null'
        } catch {
          return false
        }
      }).length
    const before = opened()
    // Refused behind the look at the image, so that nothing need run.
    const tooMuch = { policy_overrides: { memory_mb: 1_000_000 } }
    for (let round = 0; round < 3; round++)
      for (const image of images) {
        const { status, text } = await server.ask('POST', '/sandbox/execs', { body: { ...which, ...tooMuch, image } })
        expect([status, text]).toEqual([403, expect.stringContaining('POLICY_ESCALATION')])
      }
    await expect.poll(opened, { timeout: 60_000 }).toBeLessThanOrEqual(before + 32)
    for (const image of [images[0], images.at(-1)]) {
      const exec = await server.exec({ ...which, image })
      expect(textOf(server, exec.stdout_path)).toBe('one\n')
    }
  })
})

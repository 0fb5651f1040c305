// The pool on Docker: containers come and go, taken away behind its back or left by a server that was killed, and the files stay.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { startServer, type Answered, type ServerGround } from '../e2e/server-ground.ts'

function dockerHasImage(): boolean {
  try {
    execFileSync('docker', ['image', 'inspect', 'glovebox/sandbox:latest'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const isHere = dockerHasImage()
const flags = ['--backend', 'docker', '--limit', 'waitMs=1000']
let place: string
let one: ServerGround

const post = (server: ServerGround, path: string, body?: object): Promise<Answered> =>
  server.call('POST', path, body === undefined ? {} : { body })
const acquire = (server: ServerGround, key: string): Promise<Answered> => post(server, '/sandboxes', { key })
const said = async (server: ServerGround, id: unknown, command: string): Promise<unknown> =>
  (await post(server, `/sandboxes/${String(id)}/commands`, { command })).at('stdout')

/** Of this test's installation alone. */
function containers(): readonly string[] {
  const installation = readFileSync(join(place, 'state', 'docker', 'installation'), 'utf8').trim()
  const filter = `label=dev.glovebox.installation=${installation}`
  return execFileSync('docker', ['ps', '--all', '--quiet', '--no-trunc', '--filter', filter], { encoding: 'utf8' })
    .split('\n')
    .filter((id) => id !== '')
}

describe.runIf(isHere || isRequired('docker'))('the pool on docker', () => {
  beforeAll(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-pool-docker-')))
    one = await startServer({ place, flags })
  })
  afterAll(async () => {
    await one.stop()
    rmSync(place, { recursive: true, force: true })
  })

  it('a server that ends leaves no container, and the files', async () => {
    const brief = await startServer({ place, flags, token: one.token })
    const id = (await acquire(brief, 'brief')).at('id')
    await said(brief, id, 'echo kept > /workspace/note')
    expect(containers()).not.toEqual([])
    await brief.stop()
    expect(containers()).toEqual([])
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
  })

  it('a container that was removed behind the back of the pool is replaced without an error', async () => {
    const id = (await acquire(one, 'removed')).at('id')
    expect(await said(one, id, 'echo kept > /workspace/note; cat /workspace/note')).toBe('kept\n')
    await post(one, `/sandboxes/${String(id)}/release`)
    execFileSync('docker', ['rm', '--force', ...containers()], { stdio: 'ignore' })
    expect((await acquire(one, 'removed')).at('id')).toBe(id)
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
  })

  it('a paused sandbox has no container, and comes back with its files', async () => {
    const before = containers().length
    const id = (await acquire(one, 'paused')).at('id')
    await said(one, id, 'echo kept > /workspace/note')
    expect(containers().length).toBeGreaterThan(before)
    await post(one, `/sandboxes/${String(id)}/pause`)
    await expect.poll(() => containers().length, { timeout: 10_000 }).toBe(before)
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
  })

  it('a fork has the files, and its own from then on', async () => {
    const id = (await acquire(one, 'forked')).at('id')
    await said(one, id, 'echo first > /workspace/note')
    const [copy] = (await post(one, `/sandboxes/${String(id)}/fork`, {})).at('items') as readonly {
      readonly id: string
    }[]
    await said(one, copy?.id, 'echo second > /workspace/note')
    expect(await said(one, id, 'cat /workspace/note')).toBe('first\n')
    expect(await said(one, copy?.id, 'cat /workspace/note')).toBe('second\n')
  })

  it('a server that is killed leaves its sandbox to another, which ends the container that was left', async () => {
    const doomed = await startServer({ place, flags, token: one.token })
    const id = (await acquire(doomed, 'orphan')).at('id')
    await said(doomed, id, 'echo kept > /workspace/note')
    const own = containers()
    doomed.server.child.kill('SIGKILL')
    await doomed.server.finished
    const taken = await acquire(one, 'orphan')
    expect([taken.status, taken.at('id')]).toEqual([200, id])
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
    await expect.poll(() => containers().length, { timeout: 10_000 }).toBeLessThanOrEqual(own.length)
  })
})

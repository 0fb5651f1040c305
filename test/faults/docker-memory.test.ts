// A command that takes more memory than its container has ends by oom, every time and however it was started: the daemon may hear of the
// memory after the end, and with gVisor, which dies as a whole, it does so often where the machine has much to do.
import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import { findSearchProgram, openBackend } from '../conformance/built.ts'
import { isRequired } from '../conformance/required.ts'
import { createSandbox } from './built-sandbox.ts'
import { dockerHasImage, dockerHasRuntime, execTarget, runscImage } from './exec-targets.ts'
import { serversOn } from './lasting-execs.ts'

const isHere = dockerHasImage('glovebox/sandbox:latest')
const gvisorIsHere = dockerHasRuntime('runsc') && dockerHasImage(runscImage)
const greedy = 'x = bytearray(400 * 1024 * 1024)'
const argv = ['python3', '-c', greedy] as const
const times = 4
const greedyExec = (memoryMb: number) => ({
  project_id: 'demo',
  exec: { kind: 'python', command: greedy },
  policy_overrides: { memory_mb: memoryMb },
})

/** A sandbox with little memory, for the tests of one group. */
function sandboxOn(docker: { readonly image?: string; readonly runtime?: string }): () => Sandbox {
  const place = mkdtempSync(join(tmpdir(), 'glovebox-memory-'))
  let backend: Backend
  let sandbox: Sandbox
  beforeAll(async () => {
    const [stateDir, hostPath] = [join(place, 'state') as HostPath, join(place, 'workspace')]
    for (const each of [stateDir, hostPath]) mkdirSync(each, { mode: 0o700 })
    if (process.getuid?.() === 0) chownSync(hostPath, 1000, 1000)
    const searchProgram = findSearchProgram()
    backend = await openBackend('docker', { stateDir, searchProgram, operatorEnv: process.env, docker })
    sandbox = await createSandbox({
      backend,
      mounts: [{ guestPath: '/workspace', hostPath }],
      layers: [{ layer: 'settings', source: 'test', values: { memoryMb: 96 } }],
    })
  })
  afterAll(async () => {
    await sandbox?.kill()
    await backend?.close?.()
    rmSync(place, { recursive: true, force: true })
  })
  return () => sandbox
}

describe.skipIf(!isHere && !isRequired('docker'))('a command in a container that runs out of memory', () => {
  const given = sandboxOn({})

  it('ends by oom, with and without input, and the next one that is only killed does not', async () => {
    const sandbox = given()
    for (let time = 0; time < times; time++) {
      expect((await sandbox.commands.run(argv)).ended.by).toBe('oom')
      expect((await sandbox.commands.run(argv, { stdin: 'input' })).ended.by).toBe('oom')
      const killed = await sandbox.commands.run(['sh', '-c', 'cat; kill -9 $$'], { stdin: 'input' })
      expect(killed.ended).toMatchObject({ by: 'signal', signal: 'SIGKILL' })
    }
  })

  it('is the only one that is told so: not the next one that is killed, where only a child of the one before ran out of it', async () => {
    const sandbox = given()
    for (let time = 0; time < times; time++) {
      const parent = await sandbox.commands.run(['sh', '-c', `python3 -c '${greedy}'; echo $?`])
      expect(parent).toMatchObject({ ended: { by: 'exit', code: 0 }, stdout: '137\n' })
      const killed = await sandbox.commands.run(['sh', '-c', 'kill -9 $$'])
      expect(killed.ended).toMatchObject({ by: 'signal', signal: 'SIGKILL' })
    }
  })

  it('ends by oom on a terminal', async () => {
    const terminal = await given().shells.open({ pty: { cols: 80, rows: 24 }, argv })
    expect((await terminal.ended).ended.by).toBe('oom')
  })
})

describe.skipIf(!gvisorIsHere && !isRequired('docker-runsc'))('a container of gVisor that runs out of memory', () => {
  const given = sandboxOn({ image: runscImage, runtime: 'runsc' })
  const start = serversOn(execTarget('docker-runsc'))
  const neighbours: ChildProcess[] = []
  beforeAll(() => {
    // They end by themselves, should nobody end them.
    const spin = ['10m', 'sh', '-c', 'while :; do :; done']
    for (let each = 0; each < 4; each++) neighbours.push(spawn('timeout', ['--foreground', ...spin]))
  })
  afterAll(() => {
    for (const neighbour of neighbours) neighbour.kill()
  })

  it('ends by oom, every time, where the machine has much else to do', async () => {
    for (let time = 0; time < 2 * times; time++) expect((await given().commands.run(argv)).ended.by).toBe('oom')
  })

  it('ends as OOM where it is one of an exec, and was quick: only the daemon can tell, and only from when it watches', async () => {
    const server = await start()
    const ends: unknown[] = []
    for (let time = 0; time < times; time++) {
      const execs = await Promise.all([greedyExec(96), greedyExec(96)].map((body) => server.exec(body)))
      ends.push(...execs.map(({ status, exit_code }) => [status, exit_code]))
    }
    expect(ends).toEqual(ends.map(() => ['OOM', 137]))
  })
})

describe.skipIf(!isHere && !isRequired('docker'))('an exec that runs out of memory', () => {
  const start = serversOn(execTarget('docker'))

  it('ends as OOM, every time', async () => {
    const server = await start()
    const execs = await Promise.all(Array.from({ length: times }, () => server.exec(greedyExec(64))))
    expect(execs.map(({ status, exit_code }) => [status, exit_code])).toEqual(execs.map(() => ['OOM', 137]))
  })
})

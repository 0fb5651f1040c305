// The backend docker in the smallest image that it promises to work in: BusyBox under all of its names, no bash, no other file. What runs
// inside of ours is then run by a shell that is nobody's copy of dash.
import { chownSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import { createSandbox } from '../faults/built-sandbox.ts'
import { busyboxImage, dockerHasImage } from '../faults/exec-targets.ts'
import { findSearchProgram, openBackend } from './built.ts'
import { isRequired } from './required.ts'

describe.skipIf(!dockerHasImage(busyboxImage) && !isRequired('docker'))('docker with an image of BusyBox alone', () => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-busybox-')))
  const workspace = join(place, 'workspace')
  let backend: Backend
  let sandbox: Sandbox
  beforeAll(async () => {
    for (const [name, mode] of [['workspace', 0o755] as const, ['state', 0o700] as const])
      mkdirSync(join(place, name), { mode })
    if (process.getuid?.() === 0) chownSync(workspace, 1000, 1000)
    backend = await openBackend('docker', {
      stateDir: join(place, 'state') as HostPath,
      searchProgram: findSearchProgram(),
      docker: { image: busyboxImage },
      operatorEnv: process.env,
    })
    sandbox = await createSandbox({
      backend,
      mounts: [{ guestPath: '/workspace', hostPath: workspace }],
      layers: [],
      env: { OF_ALL: 'every' },
    })
  })
  afterAll(async () => {
    await sandbox?.kill()
    await backend?.close?.()
    rmSync(place, { recursive: true, force: true })
  })
  const run = (...asked: Parameters<Sandbox['commands']['run']>) => sandbox.commands.run(...asked)

  it('is usable, and has neither bash nor another file than BusyBox', async () => {
    expect(await backend.probe()).toMatchObject({ available: true })
    const { stdout } = await run('find /bin -type f; command -v bash || echo no bash')
    expect(stdout).toBe('/bin/busybox\nno bash\n')
  })

  it('a command has its outputs, exit code, directory, environment and input', async () => {
    const env = { ONE: "it's\n  two lines" }
    expect(await run('echo out; echo err >&2; pwd; echo "$OF_ALL $ONE"; exit 7', { env })).toMatchObject({
      ended: { by: 'exit', code: 7 },
      stdout: "out\n/workspace\nevery it's\n  two lines\n",
      stderr: 'err\n',
    })
    await run('mkdir -p below')
    expect((await run(['pwd'], { cwd: '/workspace/below' })).stdout).toBe('/workspace/below\n')
    expect((await run(['tr', 'a-z', 'A-Z'], { stdin: 'from its input' })).stdout).toBe('FROM ITS INPUT')
    expect((await run('kill -9 $$')).ended).toEqual({ by: 'signal', signal: 'SIGKILL' })
    expect(await run(['not-there'])).toMatchObject({ exitCode: 127, stderr: expect.stringContaining('not-there') })
  })

  it('commands run one after another in one container, with nothing left of the one before', async () => {
    const startOfFirst = ['cut', '-d ', '-f22', '/proc/1/stat'] as const
    const { stdout: first } = await run(startOfFirst)
    await run('sleep 300 & touch /tmp/left /dev/shm/left /.glovebox/run/left')
    // One that comes before the last has been cleared away has another container made.
    await expect.poll(async () => (await run(startOfFirst)).stdout).toBe(first)
    expect((await run('ls -A /tmp /dev/shm /.glovebox/run; ps | grep -c [s]leep')).stdout).toBe(
      '/.glovebox/run:\n\n/dev/shm:\n\n/tmp:\n0\n',
    )
  })

  it('a command that the shell has itself is a process of its own', async () => {
    expect((await run(['cat', '/proc/self/environ'])).stdout).toContain('OF_ALL=every\0')
    expect(await run(['sh', '-c', 'echo told >/dev/stderr'])).toMatchObject({ exitCode: 0, stderr: 'told\n' })
    // It is the keeper that is closed to it.
    expect(await run(['ls', '/proc/1/fd'])).toMatchObject({ exitCode: 1, stdout: '' })
    expect((await run(['cat', '/proc/1/exe'])).exitCode).toBe(1)
  })

  const beat = 'while :; do echo beat >> beats; sleep 0.05; done'
  const beats = (): number => readFileSync(join(workspace, 'beats'), 'utf8').length

  it.each(['timeout', 'cancel'] as const)(
    'a command that is ended by %s is ended with all that it started',
    async (by) => {
      rmSync(join(workspace, 'beats'), { force: true })
      const cancelling = new AbortController()
      const running = run(
        `(${beat}) & (trap "" TERM INT HUP; setsid sh -c '${beat}') & sleep 300`,
        by === 'timeout' ? { timeoutMs: 3000 } : { signal: cancelling.signal },
      )
      // Control: it runs.
      await expect.poll(beats).toBeGreaterThan(0)
      if (by === 'cancel') cancelling.abort()
      expect((await running).ended.by).toBe(by)
      const last = beats()
      await new Promise((resolve) => setTimeout(resolve, 500))
      expect(beats()).toBe(last)
    },
  )

  it('a persistent shell keeps its state, and a terminal has its size', async () => {
    await using shell = await sandbox.shells.open()
    await shell.exec('cd below; x="a  b"; greet() { echo hello; }; alias short="echo aliased"')
    expect(await shell.exec('pwd; echo "$x"; greet; short; (exit 3)')).toMatchObject({
      exitCode: 3,
      state: 'kept',
      stdout: '/workspace/below\na  b\nhello\naliased\n',
    })
    expect(await shell.exec('sleep 300', { timeoutMs: 500 })).toMatchObject({ ended: { by: 'timeout' } })
    expect((await shell.exec('pwd; echo "$x"')).stdout).toBe('/workspace/below\na  b\n')
    await using terminal = await sandbox.shells.open({ pty: { cols: 91, rows: 17 }, argv: ['stty', 'size'] })
    let said = ''
    for await (const { bytes } of terminal.read()) said += Buffer.from(bytes).toString()
    expect(said).toBe('17 91\r\n')
    expect(await terminal.ended).toMatchObject({ exitCode: 0 })
  })
})

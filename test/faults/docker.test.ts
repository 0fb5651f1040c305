// What becomes of commands when the daemon dies or hangs. It is a private one: script/dockerd, which ends with this process.
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { findSearchProgram, openBackend } from '../conformance/built.ts'
import { isRequired } from '../conformance/required.ts'
import { createSandbox } from './built-sandbox.ts'

const script = (name: string): string => fileURLToPath(new URL(`../../script/${name}`, import.meta.url))
const canRun = process.getuid?.() === 0 && existsSync('/usr/sbin/dockerd')

describe.skipIf(!canRun && !isRequired('docker'))('a Docker daemon of its own [needs root and dockerd]', () => {
  const place = mkdtempSync(join(tmpdir(), 'glovebox-daemon-'))
  const env = { ...process.env, DOCKER_HOST: `unix://${join(place, 'socket')}` }
  let backend: Backend
  let made = 0

  const daemonPid = (): number => {
    const root = execFileSync('docker', ['info', '--format', '{{.DockerRootDir}}'], { env, encoding: 'utf8' }).trim()
    return Number(readFileSync(join(root, '..', 'pid'), 'utf8'))
  }
  const start = (): void => {
    execFileSync(script('dockerd'), ['--watch', String(process.pid)], { env, stdio: 'pipe' })
    execFileSync(script('docker-image'), ['--if-missing'], { env, stdio: 'pipe' })
  }
  const workspace = (): string => {
    const path = join(place, `w${++made}`)
    execFileSync('mkdir', [path])
    chownSync(path, 1000, 1000)
    return path
  }

  const stateDir = join(place, 'state') as HostPath
  const open = (): Promise<Backend> =>
    openBackend('docker', { stateDir, searchProgram: findSearchProgram(), operatorEnv: env })

  beforeAll(async () => {
    start()
    execFileSync('mkdir', ['-m', '700', stateDir])
    backend = await open()
  }, 180_000)
  afterAll(async () => {
    await backend?.close?.()
    rmSync(place, { recursive: true, force: true })
  })

  it('a daemon that hangs does not hang what can do without it, and is served again when it goes on', async () => {
    const hostPath = workspace()
    const sandbox = await createSandbox({ backend, mounts: [{ guestPath: '/workspace', hostPath }], layers: [] })
    const pid = daemonPid()
    process.kill(pid, 'SIGSTOP')
    try {
      await sandbox.files.write('/workspace/by-action', 'written')
      expect(readFileSync(join(hostPath, 'by-action'), 'utf8')).toBe('written')
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    expect((await sandbox.commands.run('cat by-action')).stdout).toBe('written')
    await sandbox.kill()
  })

  it('a daemon that is killed leaves no command running', async () => {
    const hostPath = workspace()
    const sandbox = await createSandbox({ backend, mounts: [{ guestPath: '/workspace', hostPath }], layers: [] })
    const running = sandbox.commands.run('while :; do date +%s%N > beat; sleep 0.05; done')
    const beat = join(hostPath, 'beat')
    while (!existsSync(beat)) await pause(20)
    process.kill(daemonPid(), 'SIGKILL')
    const { ended } = await running
    expect(ended.by, 'never a guess').toBe('lost')
    const stands = async (): Promise<boolean> => {
      const last = readFileSync(beat, 'utf8')
      await pause(1000)
      return readFileSync(beat, 'utf8') === last
    }
    await expect.poll(stands).toBe(true)
    await expect(sandbox.commands.run('true')).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
    await sandbox.kill()
    expect(readdirSync(hostPath).filter((name) => name !== '.glovebox')).toEqual(['beat'])
  })

  it('a daemon that is started anew is used as the first one was', async () => {
    await backend.close?.()
    start()
    // What an image's name means is asked once, when a backend is opened, and this daemon has another image.
    backend = await open()
    const sandbox = await createSandbox({
      backend,
      mounts: [{ guestPath: '/workspace', hostPath: workspace() }],
      layers: [],
    })
    expect((await sandbox.commands.run('echo again')).stdout).toBe('again\n')
    await sandbox.kill()
  })
})

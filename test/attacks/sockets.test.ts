// A hostile program that looks for somebody on the host to talk to: daemons, agents and displays behind sockets, and
// memory or queues that programs share.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attackedBackend, openHost, probeFile, starters, undefended } from './host.ts'
import type { AttackHost, Guest } from './host.ts'
import { listen, type Listener } from './listeners.ts'

/** Where the sockets of docker, of the session bus, of agents and of X11 lie; only root can plant below /run. */
const isRoot = process.getuid?.() === 0
const unique = `glovebox-attack-${process.pid}`
const abstractName = `/tmp/.X11-unix/X${process.pid}`
let directory: string
let paths: readonly string[]
let listeners: readonly Listener[]

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-sockets-'))
  chmodSync(directory, 0o755)
  const runtime = join('/run', unique)
  if (isRoot) mkdirSync(runtime, { mode: 0o755 })
  const inRun = isRoot ? [join(runtime, 'docker.sock'), join('/var/run', unique, 'bus')] : []
  paths = [join(directory, 'agent.sock'), ...inRun, join('/dev/shm', `${unique}.sock`)]
  const named = await Promise.all(paths.map((path) => listen({ path, readableAll: true, writableAll: true })))
  listeners = [...named, await listen({ path: `\0${abstractName}` })]
})
afterAll(() => {
  for (const listener of listeners) listener.close()
  rmSync(directory, { recursive: true, force: true })
  if (isRoot) rmSync(join('/run', unique), { recursive: true, force: true })
})
const visits = (): number => listeners.reduce((sum, each) => sum + each.visits(), 0)

const probeUndefended = async (name: string, words: readonly string[]): Promise<Record<string, string>> =>
  JSON.parse((await undefended([await probeFile(name), ...words])).stdout) as Record<string, string>

describe.each(starters)('sockets and shared memory, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  beforeAll(async () => {
    const agent = join(directory, 'agent.sock')
    host = await openHost(starter, {
      env: {
        SSH_AUTH_SOCK: agent,
        GPG_AGENT_INFO: `${agent}:1:1`,
        DBUS_SESSION_BUS_ADDRESS: `unix:path=${agent}`,
        XDG_RUNTIME_DIR: directory,
        ...(attackedBackend === 'docker' ? {} : { DOCKER_HOST: `unix://${agent}` }),
        CONTAINER_HOST: `unix://${agent}`,
        DISPLAY: ':0',
        WAYLAND_DISPLAY: agent,
        XAUTHORITY: agent,
      },
    })
    guest = await host.sandbox()
  })
  afterAll(() => host.close())

  const probe = async (name: string, words: readonly string[]): Promise<Record<string, string>> =>
    JSON.parse((await guest.probe(name, words)).stdout) as Record<string, string>

  it('a socket of the host is not there to connect to', async () => {
    const known = [
      '/run/docker.sock',
      '/var/run/docker.sock',
      '/run/containerd/containerd.sock',
      '/run/dbus/system_bus_socket',
    ]
    const words = paths.map((path) => `unix:${path}`)
    const before = visits()
    const answers = await probe('connect.py', [...words, ...known.map((path) => `unix:${path}`)])
    expect(new Set(Object.values(answers))).toEqual(new Set(['ENOENT']))
    expect((await guest.run('find / -path /proc -prune -o -type s -print 2>/dev/null')).stdout).toBe('')
    expect(visits()).toBe(before)
    expect(Object.values(await probeUndefended('connect.py', words))).toEqual(words.map(() => 'canary'))
  })

  it('an abstract socket of the host is not reached', async () => {
    const before = visits()
    expect(Object.values(await probe('connect.py', [`abstract:${abstractName}`]))).toEqual(['ECONNREFUSED'])
    expect((await guest.run('grep -c @ /proc/net/unix')).stdout).toBe('0\n')
    expect(visits()).toBe(before)
    expect(Object.values(await probeUndefended('connect.py', [`abstract:${abstractName}`]))).toEqual(['canary'])
  })

  it('agents, buses and displays of the operator are not named inside', async () => {
    const names = 'SSH_AUTH_SOCK|GPG_AGENT_INFO|DBUS_|XDG_RUNTIME|DOCKER_HOST|CONTAINER_HOST|DISPLAY|XAUTHORITY'
    const look = `env | grep -cE '^(${names})'; cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -cE '^(${names})'`
    expect((await guest.run(look)).stdout).toBe('0\n0\n')
    // An image has an empty /run of its own.
    const left = attackedBackend === 'docker' ? '/run\n' : ''
    expect((await guest.run('ls -d /tmp/.X11-unix /run/user /run 2>/dev/null')).stdout).toBe(left)
    const control = await undefended(`env | grep -cE '^(${names})'`, { env: { SSH_AUTH_SOCK: '/x', DISPLAY: ':0' } })
    expect(control.stdout).toBe('2\n')
  })

  it('shared memory and queues of the host are not there', async () => {
    const [key, name, file] = [String(0x610000 + (process.pid % 65536)), `/${unique}`, join('/dev/shm', unique)]
    const program = await probeFile('ipc.py')
    writeFileSync(file, 'canary', { mode: 0o644 })
    execFileSync(program, ['make', key, name])
    try {
      const canaries = { segment: 'canary', queue: 'canary' }
      expect(await probe('ipc.py', ['look', key, name])).toEqual({ segment: 'ENOENT', queue: 'ENOENT' })
      expect(await guest.run(`ls /dev/mqueue; cat ${file}`)).toMatchObject({ exitCode: 1, stdout: '' })
      expect((await guest.run('tail -qn +2 /proc/sysvipc/*')).stdout).toBe('')
      expect(await probeUndefended('ipc.py', ['look', key, name])).toEqual(canaries)
      expect((await undefended(['cat', file])).stdout).toBe('canary')
    } finally {
      execFileSync(program, ['drop', key, name])
      rmSync(file)
    }
  })
})

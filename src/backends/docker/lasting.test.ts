import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { platform } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { LastingCommand, LastingRequest } from '../../contract/lasting.ts'
import type { GuestPath, HostPath } from '../../contract/mount.ts'
import { underLock } from '../../guards/journal.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { ownIdentity } from '../../process/identity.ts'
import { openSpawner } from '../../process/spawn.ts'
import { openDockerCli } from './cli.ts'
import { compilePlan } from './compile.ts'
import type { Containers } from './containers.ts'
import type { DockerFacts } from './facts.ts'
import { isStill } from './holder.ts'
import type { Begun } from './lasting-command.ts'
import { openLasting, type LastingParts } from './lasting.ts'

const id = 'sbx_0123456789'
/** As a server that is gone has left it: the pid was given out again since. */
const shell = { ...ownIdentity(), pid: 1, startTime: '0' }
const beforeThisBoot = (Date.now() - uptime() * 1000) / 1000 - 3600

describe('a command that a server left', () => {
  let root: HostPath
  let place: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'glovebox-lasting-')) as HostPath
    place = join(root, id)
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  /** What is looked for is told without docker. */
  const find = async (): Promise<'unbegun' | 'found' | undefined> => {
    const circuit = { unlessAway: (begin: () => unknown) => begin(), closedForMs: () => Infinity }
    const parts = {
      facts: () => ({ showsInodes: true }),
      docker: { circuit },
      containers: {},
      stateDir: root,
      place: root,
    }
    const found = await openLasting(parts as unknown as LastingParts).find(id)
    return typeof found === 'object' ? 'found' : found
  }
  const leave = (files: Readonly<Record<string, string>>): void => {
    mkdirSync(place)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text)
  }
  const begunBy = (bootId: string): string =>
    JSON.stringify({
      name: `glovebox-${id}`,
      shell: { ...shell, bootId },
      uptimeMs: 0,
      owner: shell,
      stateDir: root,
      hasOwnPipes: true,
    })

  it('is found where it was told what to do, and is nothing where it has no place', async () => {
    expect(await find()).toBeUndefined()
    leave({ 'begun.json': begunBy(shell.bootId), told: '' })
    expect(await find()).toBe('found')
  })

  it('has not begun where its shell was told nothing', async () => {
    leave({ 'begun.json': begunBy(shell.bootId) })
    expect(await find()).toBe('unbegun')
  })

  it('has not begun where its server died before it wrote down who the shell is', async () => {
    leave({ 'begun.json': '' })
    expect(await find()).toBe('unbegun')
  })

  it('may have begun where the power was cut: what would say so need not have reached the disk', async () => {
    leave({ 'begun.json': begunBy('another boot') })
    expect(await find()).toBeUndefined()
    writeFileSync(join(place, 'begun.json'), '')
    utimesSync(place, beforeThisBoot, beforeThisBoot)
    expect(await find()).toBeUndefined()
  })

  it.each(['told', 'id'])('may have begun where only "%s" is left of it', async (name) => {
    leave({ 'begun.json': '', [name]: '' })
    expect(await find()).toBeUndefined()
  })

  it('is found where it was told what to do before the power was cut, since its end may be there', async () => {
    leave({ 'begun.json': begunBy('another boot'), told: '' })
    expect(await find()).toBe('found')
  })
})

const facts: DockerFacts = {
  cliPath: '/usr/bin/docker',
  version: '27.1.0',
  context: 'default',
  image: 'glovebox/sandbox:latest',
  imageId: `sha256:${'0'.repeat(64)}`,
  runtime: undefined,
  isGvisor: false,
  holds: { memory: true, cpu: true, pids: true },
  seccomp: true,
  isHere: true,
  showsInodes: true,
  readOnlyIsDeep: true,
  operator: { uid: 1234, gid: 1234 },
  searchProgram: '/opt/package/rg' as HostPath,
}

describe.skipIf(platform !== 'linux')('a command that a server begins [needs /proc]', () => {
  let ground: string
  let stateDir: HostPath
  let place: string
  let ended: string[]
  const spawner = openSpawner()
  afterAll(() => spawner.close())
  beforeEach(() => {
    ground = mkdtempSync(join(tmpdir(), 'glovebox-lasting-'))
    stateDir = join(ground, 'state') as HostPath
    place = join(ground, 'running', id)
    for (const each of ['state', 'running', 'work']) mkdirSync(join(ground, each))
    ended = []
  })
  afterEach(async () => {
    writeFileSync(join(ground, 'go'), '')
    // What was let go of here has an end of its own.
    while (existsSync(join(place, 'begun.json')) && isStill(begun().shell)) await pause(20)
    rmSync(ground, { recursive: true, force: true })
  })

  const begun = (): Begun => JSON.parse(readFileSync(join(place, 'begun.json'), 'utf8')) as Begun
  /** Docker's part is played by a script, which has an id and is told the lines first. */
  const open = (docker = 'true', containers: Partial<Containers> = {}) => {
    const file = join(ground, 'docker')
    const first = `cat >/dev/null; echo docker >>${ground}/ran; cd ${place} || exit; printf %064d 1 >id`
    writeFileSync(file, `#!/bin/sh\n${first}\n${docker}\n`)
    chmodSync(file, 0o755)
    const circuit = { unlessAway: (begin: () => unknown) => begin(), closedForMs: () => Infinity }
    return openLasting({
      facts: () => facts,
      docker: { cli: openDockerCli(spawner, file, {}), circuit, refuseIfAway: () => {} },
      containers: { labels: () => ({}), ...containers },
      endings: {
        begin({ name }: { readonly name: string }) {
          ended.push(name)
          return { tried: Promise.resolve(true), gone: Promise.resolve(true) }
        },
      },
      stateDir,
      place: join(ground, 'running'),
    } as unknown as LastingParts)
  }
  const plan = () => {
    const resolved = resolvePolicy([{ layer: 'settings', source: 'test', values: {} }])
    const spec: SandboxSpec = {
      mounts: [{ guestPath: '/workspace' as GuestPath, hostPath: join(ground, 'work') as HostPath, mode: 'rw' }],
      home: { guestPath: '/home/agent' as GuestPath, hostPath: join(ground, 'home') as HostPath },
      cwd: '/workspace' as GuestPath,
      policy: resolved.effective,
      demanded: resolved.demanded,
      env: { HOME: '/home/agent' },
    }
    return compilePlan(spec, facts)
  }
  const request: LastingRequest = {
    argv: ['true'],
    cwd: '/workspace' as GuestPath,
    env: {},
    maxStdoutBytes: 1000,
    maxStderrBytes: 1000,
  }
  const following = (from = 0) => {
    const got = { stdout: '' }
    const onStdout = (chunk: Uint8Array): void => void (got.stdout += Buffer.from(chunk).toString())
    return { got, options: { from: { stdout: from, stderr: 0 }, onStdout, onStderr: () => {} } }
  }

  it('is written down before anything is waited for, and begins nothing where it may not any more', async () => {
    let unlock = (): void => {}
    let isLocked = false
    const locked = underLock(stateDir, () => {
      isLocked = true
      return new Promise<void>((resolve) => (unlock = resolve))
    })
    await expect.poll(() => isLocked).toBe(true)
    const seen: string[][] = []
    const onBeginning = (): never => {
      seen.push(readdirSync(place))
      throw new Error('another server has it')
    }
    const starting = open()
      .start(id, plan(), { ...request, onBeginning })
      .catch((error: unknown): unknown => error)
    await expect.poll(() => existsSync(join(place, 'home'))).toBe(true)
    const { shell, name } = begun()
    expect([name, isStill(shell), seen]).toEqual([`glovebox-${id}`, true, []])
    unlock()
    await locked
    expect(await starting).toMatchObject({ message: 'another server has it' })
    expect(seen).toEqual([expect.not.arrayContaining(['told'])])
    expect([isStill(shell), existsSync(place), existsSync(join(ground, 'ran'))]).toEqual([false, false, false])
  })

  it('runs in the image of its plan, though the backend has another one by now', async () => {
    const plannedFor = { name: facts.image, id: `sha256:${'1'.repeat(64)}` }
    const script = `printf '%s\\n' "$@" >${ground}/words; echo "glovebox exit 0"`
    const command = await open(script).start(id, { ...plan(), image: plannedFor }, request)
    expect(await command.follow(following().options)).toEqual({ code: 0 })
    const words = readFileSync(join(ground, 'words'), 'utf8').split('\n')
    expect(words.filter((word) => word.startsWith('sha256:'))).toEqual([plannedFor.id])
  })

  it('goes on when another server has it: nothing is handed over here any more, and nothing of it is ended', async () => {
    const script = `echo one >pipes/out; until [ -e ${ground}/go ]; do sleep 0.02; done; echo two >pipes/out; echo "glovebox exit 7"`
    const first = await open(script).start(id, plan(), request)
    const { got, options } = following()
    const letGo = new AbortController()
    const followed = first.follow({ ...options, letGo: letGo.signal })
    await expect.poll(() => got.stdout).toBe('one\n')
    letGo.abort()
    await expect(followed).rejects.toMatchObject({
      code: 'CANCELLED',
      message: expect.stringContaining('another server'),
    })
    first.leave()
    first.kill()
    await first.close()
    await first.forget()
    expect([isStill(begun().shell), ended, readFileSync(join(place, 'stdout'), 'utf8')]).toEqual([true, [], 'one\n'])

    const second = (await open().find(id)) as LastingCommand
    const rest = following(got.stdout.length)
    const end = second.follow(rest.options)
    writeFileSync(join(ground, 'go'), '')
    expect([await end, rest.got.stdout, got.stdout]).toEqual([{ code: 7 }, 'two\n', 'one\n'])
  })

  it('hands over nothing of what is there when another server had it before', async () => {
    const command = await open('echo one >pipes/out; echo "glovebox exit 7"').start(id, plan(), request)
    await expect.poll(() => readFileSync(join(place, 'status'), 'utf8').trimEnd()).toBe('exit 7')
    const { got, options } = following()
    const followed = command.follow({ ...options, letGo: AbortSignal.abort() })
    await expect(followed).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(got.stdout).toBe('')
  })

  it('is followed to where another server gets it, also where its end is asked of the daemon by then', async () => {
    // Without a word of the container: docker ends first, and the daemon gives no answer.
    const command = await open('[ "$1" = run ] && exit 3; exec sleep 20').start(id, plan(), request)
    const letGo = new AbortController()
    const followed = command.follow({ ...following().options, letGo: letGo.signal })
    await expect.poll(() => readFileSync(join(place, 'status'), 'utf8').trimEnd()).toBe('3')
    setTimeout(() => letGo.abort(), 300)
    await expect(followed).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  describe('that nobody looks for any more', () => {
    const other = 'sbx_9876543210'
    const leave = (name: string, files: Readonly<Record<string, string>>): void => {
      mkdirSync(join(ground, 'running', name))
      for (const [file, text] of Object.entries(files)) writeFileSync(join(ground, 'running', name, file), text)
    }
    const listed = { name: `glovebox-${id}`, sandbox: id, orphaned: true, ours: false, lasting: 'this' } as const
    const left = (): readonly string[] => readdirSync(join(ground, 'running')).filter((name) => name.startsWith('sbx_'))

    it('is swept when its container was removed, and not before', async () => {
      for (const name of [id, other]) leave(name, { told: '' })
      const removed: string[] = []
      let isRemoved = false
      const sweep = (): Promise<void> =>
        open('true', {
          listLasting: async () => [listed],
          remove: async (...names) => {
            removed.push(...names)
            return isRemoved
          },
        }).sweep(async () => new Set())
      await expect(sweep()).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
      expect([removed, left()]).toEqual([[listed.name], [id]])
      isRemoved = true
      await sweep()
      expect(left()).toEqual([])
    })

    it('is swept where it was told nothing, also where its server cannot be seen', async () => {
      const unseen = { ...ownIdentity(), pidNamespace: 'pid:[1]' }
      const text = JSON.stringify({
        name: 'name',
        shell: unseen,
        uptimeMs: 0,
        owner: unseen,
        stateDir,
        hasOwnPipes: true,
      })
      leave(id, { 'begun.json': text })
      leave(other, { 'begun.json': text, told: '' })
      await open('true', { listLasting: async () => [], remove: async () => true }).sweep(async () => new Set())
      expect(left()).toEqual([other])
      rmSync(join(ground, 'running', other), { recursive: true })
    })
  })
})

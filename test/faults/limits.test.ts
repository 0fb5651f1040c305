// Limits of the real kernel, with small children of our own. Needs root or a delegated control group.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createLimitGroup,
  detectLimits,
  readLimitsHost,
  type LimitGroup,
} from '../../src/backends/bwrap/limits/limits.ts'
import { underLock, writeJournal } from '../../src/guards/journal.ts'
import { sweepLimitGroups } from '../../src/backends/bwrap/limits/sweep.ts'
import { newSandboxId, type SandboxId } from '../../src/contract/ids.ts'
import { ownIdentity } from '../../src/process/identity.ts'

const plan = detectLimits(readLimitsHost())
const isRoot = process.getuid?.() === 0
const reason = isRoot ? '' : ` (not run: needs root; ${plan.missing[0]?.why ?? 'the own group is not used by tests'})`
const limits = { memoryBytes: 64 * 1024 * 1024, cpuCores: 0.5, pids: 20 }

const started: ChildProcess[] = []
afterAll(() => started.forEach((child) => child.exitCode === null && child.kill('SIGKILL')))

interface Child {
  readonly pid: number
  /** Lets it run its work, and tells how it ended. */
  go(): Promise<{ readonly code: number | null; readonly signal: string | null; readonly output: string }>
}

/** The interpreter says that it is ready and then waits, so that it is in its group before it does anything. */
async function python(work: string): Promise<Child> {
  const program = `import os, sys, time\nprint('ready', flush=True)\nsys.stdin.readline()\n${work}`
  const child = spawn('python3', ['-c', program], { stdio: ['pipe', 'pipe', 'ignore'] })
  started.push(child)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  await once(child.stdout, 'data')
  return {
    pid: child.pid!,
    async go() {
      // Not its exit, behind which a word of it may still be on its way.
      const closed = once(child, 'close')
      child.stdin.end('\n')
      const [code, signal] = (await closed) as [number | null, string | null]
      return { code, signal, output }
    },
  }
}

describe.skipIf(!isRoot)(`limits by ${plan.by}${reason}`, () => {
  let group: LimitGroup
  beforeEach(async () => {
    group = await createLimitGroup(plan, `glovebox-${newSandboxId()}`, limits)
  })
  afterEach(async () => {
    await group.kill()
    await group.destroy()
  })

  it('a child that takes too much memory is ended by the kernel, and the group counts it', async () => {
    expect(group.enforces).toContain('memory')
    expect(await group.oomKills()).toBe(0)
    const child = await python(`b = b'x' * (200 << 20)\nprint('survived')`)
    await group.add(child.pid)
    expect(await child.go()).toMatchObject({ signal: 'SIGKILL', output: 'ready\n' })
    expect(await group.oomKills()).toBeGreaterThan(0)
  })

  it('the same child lives where nothing limits it', async () => {
    const child = await python(`b = b'x' * (200 << 20)\nprint('survived')`)
    expect(await child.go()).toMatchObject({ code: 0, output: 'ready\nsurvived\n' })
  })

  const forks = `
made = 0
try:
  for _ in range(40):
    if os.fork() == 0:
      os.close(1)
      time.sleep(20)
      os._exit(0)
    made += 1
except BlockingIOError:
  print('refused after', made, flush=True)
`

  it('a child cannot have more processes than the limit, and kill ends them all', async () => {
    expect(group.enforces).toContain('pids')
    const child = await python(forks)
    await group.add(child.pid)
    expect(await child.go()).toMatchObject({ output: 'ready\nrefused after 19\n' })
    expect(await group.processes()).toHaveLength(19)
    await group.kill()
    expect(await group.processes()).toEqual([])
  })

  it('a spinning child gets no more CPU than the limit', async () => {
    expect(group.enforces).toContain('cpu')
    const child = await python(`
t, c = time.monotonic(), time.process_time()
while time.monotonic() - t < 1: pass
print(time.process_time() - c)
`)
    await group.add(child.pid)
    const { output } = await child.go()
    expect(Number(output.split('\n')[1])).toBeLessThan(0.75)
  })

  it('usage tells what is in the group', async () => {
    const child = await python('')
    await group.add(child.pid)
    expect(await group.processes()).toEqual([child.pid])
    expect(await group.usage()).toMatchObject({ pids: 1 })
    await child.go()
  })

  it('a group refuses what is not a pid', async () => {
    for (const pid of [0, 1, -1, Number.NaN]) {
      await expect(group.add(pid)).rejects.toMatchObject({ code: 'INTERNAL' })
    }
    expect(await group.processes()).toEqual([])
  })

  it('a process that has ended cannot be added', async () => {
    const child = await python('')
    await child.go()
    await expect(group.add(child.pid)).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
  })

  it('destroy removes every directory and is idempotent', async () => {
    await group.destroy()
    await group.destroy()
    expect(group.directories.filter((directory) => existsSync(directory))).toEqual([])
  })

  it('a destroyed group takes no process', async () => {
    await group.destroy()
    const child = await python('')
    await expect(group.add(child.pid)).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
    await child.go()
  })

  it('the sweep ends what survived its owner, and removes its group', async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'glovebox-limits-'))
    const sandboxId = group.name.replace('glovebox-', '') as SandboxId
    const owner = { ...ownIdentity(), startTime: '1' }
    const journal = { sandboxId, owner, entries: [], limitGroup: group.directories }
    await underLock(stateDir, async () => writeJournal(stateDir, journal))
    const child = await python('time.sleep(20)')
    await group.add(child.pid)
    const ended = child.go()
    expect(await sweepLimitGroups(stateDir)).toEqual({ removed: [sandboxId], kept: [] })
    expect(await ended).toMatchObject({ signal: 'SIGKILL' })
    expect(group.directories.filter((directory) => existsSync(directory))).toEqual([])
    rmSync(stateDir, { recursive: true })
  })

  it('destroy waits while processes are dying', async () => {
    const child = await python('time.sleep(20)')
    await group.add(child.pid)
    const ended = child.go()
    const destroyed = group.destroy()
    await delay(50)
    process.kill(child.pid, 'SIGKILL')
    await destroyed
    await ended
    expect(group.directories.filter((directory) => existsSync(directory))).toEqual([])
  })

  it('destroy gives up on a group that stays in use, and says so', async () => {
    const child = await python('time.sleep(20)')
    await group.add(child.pid)
    await expect(group.destroy()).rejects.toMatchObject({ code: 'BUSY' })
    await group.kill()
    await group.destroy()
  })
})

// A hostile program against the processes of the host, and against its own end. What a guest leaves running is found by
// the host in two ways: by a word of its command line, and by the beats that it leaves in a file.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isGvisor, openControlGround, openHost, probeFile, starters, undefended } from './host.ts'
import type { AttackHost, ControlGround, Guest } from './host.ts'
import { childrenOf, comesToPass, processesWith } from './host-view.ts'

let ground: ControlGround
beforeAll(() => {
  ground = openControlGround()
})
afterAll(() => ground.close())

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0)

async function expectDeadHeart(path: string): Promise<void> {
  const beats = sizeOf(path)
  await delay(200)
  expect(sizeOf(path)).toBe(beats)
}

/** The shell's part of a control: tells whether the file goes on growing, as soon as it has. */
const stillBeats = (path: string): string => {
  const size = `$(cat ${path} 2>/dev/null | wc -c)`
  return `a=${size}; for i in $(seq 100); do [ "${size}" -gt "$a" ] && echo beats && break; sleep 0.1; done`
}

describe.each(starters)('processes, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  let canary: ChildProcess
  beforeAll(async () => {
    host = await openHost(starter)
    guest = await host.sandbox()
    canary = spawn('/usr/bin/sleep', ['120'], {
      stdio: 'ignore',
      env: { SECRET: 'canary' },
      uid: host.uid,
      gid: host.uid,
    })
  })
  afterAll(async () => {
    canary.kill('SIGKILL')
    await host.close()
  })

  it('a process of the host is neither seen nor signalled', async () => {
    const seen = (await guest.run('ls /proc | grep -c "^[0-9]"; cat /proc/[0-9]*/cmdline | tr "\\0" " "')).stdout
    expect(Number(seen.split('\n')[0])).toBeLessThan(10)
    expect(seen).not.toContain('vitest')
    const pid = String(canary.pid)
    const reading = await guest.run(`cat /proc/${pid}/environ; ls /proc/${pid}/root /proc/${pid}/fd; kill -0 ${pid}`)
    expect(reading).toMatchObject({ exitCode: 1, stdout: '' })
    // Every number that a process can have, one after another, and then all at once.
    expect((await guest.probe('signal-all.py')).stdout).toBe('')
    expect([canary.exitCode, canary.signalCode]).toEqual([null, null])
    expect(processesWith('host-process.mjs').some((seenHost) => seenHost.pid === host.pid)).toBe(true)

    const control = `SECRET=canary sleep 60 & until grep -q SECRET /proc/$!/environ; do sleep 0.05; done; tr "\\0" "\\n" < /proc/$!/environ | grep SECRET; setsid ${await probeFile('signal-all.py')} $!; wait $!; echo $?`
    expect((await undefended(control)).stdout).toBe(`SECRET=canary\nKILLED\n137\n`)
  })

  it('another sandbox is neither seen nor signalled', async () => {
    // It is ended, and would outlive the case by far.
    const marker = `633.${process.pid}${starter === 'root' ? 1 : 2}`
    const sibling = await host.sandbox()
    // What runs under gVisor is no process of the host's: there it leaves beats.
    const beat = `while :; do echo ${marker} >> beats; sleep 0.1; done`
    const running = sibling.run(isGvisor ? beat : ['sleep', marker])
    const beats = join(sibling.workspace, 'beats')
    const lives = (): Promise<boolean> => {
      const before = sizeOf(beats)
      return comesToPass(() => (isGvisor ? sizeOf(beats) > before : processesWith(marker).length === 1), 20_000)
    }
    expect(await lives()).toBe(true)
    expect((await guest.run('cat /proc/[0-9]*/cmdline')).stdout).not.toContain(marker)
    expect((await guest.probe('signal-all.py')).stdout).toBe('')
    expect(await lives()).toBe(true)
    await sibling.kill()
    expect((await running).ended.by).not.toBe('exit')
    await expectDeadHeart(beats)
    expect(processesWith(marker)).toEqual([])
    const both = `sleep ${marker} & cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -o "sleep ${marker}" | head -1; kill $!`
    expect((await undefended(both)).stdout).toBe(`sleep ${marker}\n`)
  })

  it('a daemon does not outlive its exec', async () => {
    const beats = 'beats-of-daemon'
    expect(await guest.probe('outlive.c', [`/workspace/${beats}`])).toMatchObject({ ended: { by: 'exit', code: 0 } })
    expect(processesWith(`/workspace/${beats}`)).toEqual([])
    await expectDeadHeart(join(guest.workspace, beats))
    const own = join(ground.directory, `${beats}-${starter}`)
    expect((await undefended(`${await probeFile('outlive.c')} ${own}; ${stillBeats(own)}`)).stdout).toBe('beats\n')
  })

  it('a daemon does not outlive a timeout', async () => {
    const beats = 'beats-after-timeout'
    await guest.probe('outlive.c', ['/workspace/none', 'stay'], { timeoutMs: 100 })
    const command = `/workspace/probe-outlive /workspace/${beats}; (trap "" TERM INT HUP; sleep 30) & setsid sleep 30 & sleep 30`
    const run = await guest.run(command, { timeoutMs: 3000 })
    expect(run).toMatchObject({ ended: { by: 'timeout' }, exitCode: 124 })
    expect(run.durationMs).toBeLessThan(20_000)
    expect(sizeOf(join(guest.workspace, beats))).toBeGreaterThan(0)
    expect(processesWith(`/workspace/${beats}`)).toEqual([])
    await expectDeadHeart(join(guest.workspace, beats))
    const own = join(ground.directory, `${beats}-${starter}`)
    const control = `timeout -s KILL 3 sh -c '${await probeFile('outlive.c')} ${own}; sleep 10'; ${stillBeats(own)}`
    expect((await undefended(control)).stdout).toBe('beats\n')
  })

  it('no zombie is left of many execs', async () => {
    const zombies = 'cat /proc/[0-9]*/stat 2>/dev/null | cut -d" " -f3 | grep -c Z'
    // One that nobody buries stays for ever.
    const orphans = `for i in 1 2 3 4 5 6 7 8; do (true & true &) ; done; for i in $(seq 100); do sleep 0.1; [ "$(${zombies})" = 0 ] && break; done; ${zombies}`
    expect((await guest.run(orphans)).stdout).toBe('0\n')
    await Promise.all(Array.from({ length: 8 }, () => guest.run('(sleep 0.05 &); exit 3')))
    expect(await comesToPass(() => childrenOf(host.pid).every(({ state }) => state !== 'Z'), 20_000)).toBe(true)
    const control =
      'python3 -c "import os; os.fork() or os._exit(0); os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT); os.system(\'cat /proc/[0-9]*/stat | grep -c \\") Z\\"\')"'
    expect(Number((await undefended(control)).stdout)).toBeGreaterThan(0)
  })
})

/** The state of another host: the next start there clears away what killed ones have left, such as control groups. */
const stateOf = (host: AttackHost) => ({ env: { GLOVEBOX_STATE_DIR: host.stateDirectory } })

/** Also those that have ended. */
function containersOf({ id }: Guest): readonly string[] {
  const filter = `label=dev.glovebox.sandbox=${id}`
  const found = spawnSync('docker', ['ps', '--all', '--quiet', '--filter', filter], { encoding: 'utf8' })
  expect(found.status).toBe(0)
  return found.stdout.split('\n').filter(Boolean)
}

/** A host of its own, in which a command is under way, ended as the kernel ends a process for want of memory. */
async function killedHost(before: AttackHost, args: readonly string[], afterMs: number | 'beats') {
  const host = await openHost(before.starter, stateOf(before))
  const guest = await host.sandbox()
  const marker = `/workspace/beats-${process.pid}-${Math.random()}`
  const beats = join(guest.workspace, marker.slice('/workspace/'.length))
  // Several at once, so that the end meets them at different steps of their start.
  const running = Promise.allSettled([1, 2, 3, 4].map(() => guest.probe('outlive.c', [marker, ...args])))
  if (afterMs === 'beats') expect(await comesToPass(() => sizeOf(beats) > 2, 20_000)).toBe(true)
  else await delay(afterMs)
  if (isGvisor && afterMs === 'beats') expect(containersOf(guest)).not.toEqual([])
  process.kill(host.pid, 'SIGKILL')
  await running
  // A child that the host was about to start may show its command line only now.
  await delay(300)
  // By itself it would live for a minute.
  await comesToPass(() => processesWith(marker).length === 0, 30_000)
  // There the daemon has to be asked to end it, which takes its time; and it is asked to remove what has ended, too.
  if (isGvisor) expect(await comesToPass(() => containersOf(guest).length === 0, 30_000)).toBe(true)
  const left = processesWith(marker)
  for (const { pid } of left) process.kill(pid, 'SIGKILL')
  await expectDeadHeart(beats)
  await host.close()
  return left
}

describe.each(starters)('the end of the host, started by %s', (starter) => {
  let before: AttackHost
  beforeAll(async () => {
    before = await openHost(starter)
  })
  afterAll(async () => {
    const next = await openHost(starter, stateOf(before))
    await next.sandbox()
    await next.close()
    await before.close()
  })

  it('a host that is killed leaves nothing running', async () => {
    expect(await killedHost(before, ['stay'], 'beats')).toEqual([])
    const own = join(ground.directory, `orphan-${starter}`)
    const control = `bash -c '${await probeFile('outlive.c')} ${own} stay & kill -9 $$'; ${stillBeats(own)}`
    expect((await undefended(control)).stdout).toBe('beats\n')
  })

  it('a host that is killed as a command starts leaves nothing running', async () => {
    for (const afterMs of [0, 2, 4, 7, 12])
      expect(await killedHost(before, ['stay'], afterMs), `${afterMs} ms`).toEqual([])
  })

  it('the first process cannot be made to outlive the host', async () => {
    const host = await openHost(starter)
    const guest = await host.sandbox()
    const told = await guest.probe('outlive.c', ['/workspace/beats', 'init'])
    expect(told.stdout).toBe('/proc/1/mem EACCES\n/proc/1/task/1/mem EACCES\n')
    await host.close()
    expect(await killedHost(before, ['init'], 300)).toEqual([])

    // In a namespace within the control's, whose own first process takes everything with it in the end.
    const own = join(ground.directory, `init-${starter}`)
    const words = `bwrap --die-with-parent --unshare-pid --bind / / --dev-bind /dev /dev --proc /proc`
    const control = `${words} ${await probeFile('outlive.c')} ${own} init & until [ -s ${own} ]; do sleep 0.05; done; kill -9 $!; ${stillBeats(own)}`
    expect((await undefended(control)).stdout).toMatch(/^\/proc\/1\/mem WRITTEN\n[^]*beats\n$/)
  })
})

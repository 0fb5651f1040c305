// A hostile program that wants all there is: processes, memory, time. The host must stay able to answer meanwhile, and a
// limit that cannot be held must be refused, not forgotten.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isGvisor, openHost, probeFile, starters, undefended } from './host.ts'
import type { AttackHost, Guest } from './host.ts'
import { processesWith } from './host-view.ts'

/** The longest time that this process was kept from its own timer while the work went on. */
async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  let [last, longest] = [performance.now(), 0]
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - 20)
    last = now
  }, 20)
  await work()
  clearInterval(timer)
  return longest
}

/** What is not held takes the machine for as long as it lives. A machine on which others work may have no time for us for a second or two. */
const heldUpAtMostMs = 5000

describe.each(starters)('limits, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  let holdsMemory: boolean
  beforeAll(async () => {
    host = await openHost(starter)
    // gVisor cannot count processes, and would refuse to promise it.
    guest = await host.sandbox(isGvisor ? {} : { policy: { pids: 64 } })
    holdsMemory = guest.description.enforced.some(({ what }) => what === 'memory')
  })
  afterAll(() => host.close())

  it('a fork bomb is ended and the host stays responsive', async () => {
    // Others on the machine have theirs.
    const bomb = `bomb_${starter}_${process.pid}`
    const delay = await longestDelay(async () => {
      const told = await guest.run(`${bomb}() { ${bomb} | ${bomb} & }; ${bomb}; sleep 2; true`, { timeoutMs: 1500 })
      expect(told.ended.by).toMatch(/^(timeout|exit)$/)
      expect(told.durationMs).toBeLessThan(20_000)
    })
    expect(delay).toBeLessThan(heldUpAtMostMs)
    expect(processesWith(bomb)).toEqual([])
    const counted = await guest.probe('devour.c', ['processes', '300'], { timeoutMs: 15_000 })
    const got = Number(/got (\d+)/.exec(counted.stdout)?.[1])
    expect(got).toBeGreaterThan(10)
    expect(got).toBeLessThan(64)
    expect((await guest.run('echo recovered')).stdout).toBe('recovered\n')
    // Sixty-odd show that the probe goes on where nothing holds it; it ends itself and its children.
    expect((await undefended([await probeFile('devour.c'), 'processes', '64'])).stdout).toBe('got 64\n')
  })

  it('a memory bomb ends by oom', async () => {
    if (holdsMemory) {
      const small = await host.sandbox({ policy: { memoryMb: 96 } })
      for (const kind of ['memory', 'mapped']) {
        const told = await small.probe('devour.c', [kind, '256'], { timeoutMs: 20_000 })
        expect(told, kind).toMatchObject({ ended: { by: 'oom' }, exitCode: 137, stdout: '' })
      }
      const through = await small.run('head -c 200M /dev/zero > /tmp/fill; echo $?; true', { timeoutMs: 20_000 })
      expect(through.ended.by === 'oom' || through.stdout !== '0\n').toBe(true)
      expect((await small.run('echo recovered')).stdout).toBe('recovered\n')
      await small.kill()
    } else {
      // Nothing here can hold memory for an ordinary user: said when nobody asked for it, refused when somebody did.
      expect(guest.description.notEnforced.map(({ what }) => what)).toContain('memory')
      await expect(host.sandbox({ policy: { memoryMb: 96 } })).rejects.toMatchObject({ code: 'POLICY_UNENFORCEABLE' })
      await expect(host.sandbox({ settings: { cpuCores: 1 } })).rejects.toMatchObject({ code: 'POLICY_UNENFORCEABLE' })
    }
    expect(starter === 'root' ? holdsMemory : true).toBe(true)
    expect((await undefended([await probeFile('devour.c'), 'memory', '128'])).stdout).toBe('took 128 MiB\n')
  })

  it('a CPU spin ends by timeout and the whole tree is gone', async () => {
    let told: Awaited<ReturnType<Guest['run']>> | undefined
    const delay = await longestDelay(async () => {
      told = await guest.probe('devour.c', ['spin', '8'], { timeoutMs: 3000 })
    })
    expect(told).toMatchObject({ ended: { by: 'timeout' }, exitCode: 124, stdout: 'got 8\n' })
    expect(told?.durationMs).toBeLessThan(20_000)
    expect(delay).toBeLessThan(heldUpAtMostMs)
    expect(processesWith('/workspace/probe-devour')).toEqual([])
    const control = `${await probeFile('devour.c')} spin 2 & until [ $(grep -l devour /proc/[0-9]*/comm | wc -l) -ge 3 ]; do sleep 0.05; done; kill -9 $!; grep -l devour /proc/[0-9]*/comm | wc -l`
    expect(Number((await undefended(control)).stdout.split('\n').at(-2))).toBeGreaterThanOrEqual(2)
  })
})

// A guest at its limits does not hold up the host, and leaves nothing behind.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { faultGround, starters, type FaultGround, type Starter } from './ground.ts'
import { controlGroupsOf, processesOf } from './traces.ts'

/** What is not held takes the machine for as long as it lives. A machine on which others work may have no time for us for a second or two. */
const heldUpAtMostMs = 5000
const mebibyte = 1024 * 1024

interface Told {
  readonly id: string
  readonly ended: { readonly by: string }
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly latestMs: number
  /** Of its timer, while the guest ran. */
  readonly turns: number
  readonly next: string
  readonly notEnforced: readonly string[]
  readonly descriptorsBefore: number
  readonly descriptorsAfter: number
}

async function letLoose(ground: FaultGround, scenario: string): Promise<Told> {
  const workspace = ground.makeDirectory(scenario)
  const host = ground.startHost('limits.mjs', [scenario, workspace], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(host, 'exit')
  try {
    const lines = createInterface({ input: host.stdout! })
    const line = await Promise.race([once(lines, 'line'), ended])
    const told = JSON.parse(String(line[0])) as Told
    expect(told.latestMs, 'the host stayed responsive').toBeLessThan(heldUpAtMostMs)
    expect(told.next, 'the sandbox can be used on').toBe('fine\n')
    expect(told.descriptorsAfter, 'descriptors are back').toBe(told.descriptorsBefore)
    expect(controlGroupsOf([told.id])).toEqual([])
    // Of everything that it started, nothing but the host itself is alive.
    const alive = (): readonly number[] =>
      processesOf({ directory: ground.directory, session: host.pid }).map((each) => Number.parseInt(each, 10))
    await expect.poll(alive).toEqual([host.pid])
    return told
  } finally {
    host.stdin?.end()
    await ended
  }
}

async function onGround(starter: Starter, use: (ground: FaultGround) => Promise<void>): Promise<void> {
  const ground = faultGround(starter)
  try {
    await use(ground)
  } finally {
    ground.remove()
  }
}

describe.skipIf(process.platform !== 'linux').each(starters)('limits, started by %s', (starter) => {
  it('a fork bomb does not hold up the host and leaves no process', () =>
    onGround(starter, async (ground) => {
      const { ended, stderr } = await letLoose(ground, 'forks')
      expect(['timeout', 'exit']).toContain(ended.by)
      expect(stderr).toMatch(/fork|Resource temporarily unavailable/)
    }))

  it('a CPU spin of a whole tree ends by timeout, and the whole tree is gone', () =>
    onGround(starter, async (ground) => {
      const { ended, turns } = await letLoose(ground, 'spin')
      expect(ended.by).toBe('timeout')
      // Of the eighty that there is time for: the host had its turn all the while.
      expect(turns).toBeGreaterThan(10)
    }))

  it('filling /tmp and /dev/shm ends at their sizes', () =>
    onGround(starter, async (ground) => {
      expect(Number((await letLoose(ground, 'tmp')).stdout)).toBeLessThanOrEqual(32 * mebibyte)
      expect(Number((await letLoose(ground, 'shm')).stdout)).toBeLessThanOrEqual(16 * mebibyte)
    }))
})

describe.skipIf(!starters.includes('root'))(
  'memory, started by root (an ordinary user here may have no control group)',
  () => {
    it('a memory bomb ends by oom, and the sandbox can be used on', () =>
      onGround('root', async (ground) => {
        expect((await letLoose(ground, 'memory')).ended.by).toBe('oom')
      }))
  },
)

import { describe, expect, it } from 'vitest'
import type { DockerCli } from './cli.ts'
import { anyKillSince, hasEventOfMemory, isToldOfMemory, killsOnHost } from './late-memory.ts'

/** What is told at the given question, and never before. */
function toldAt(question: number) {
  let asked = 0
  return { ask: async (): Promise<boolean> => ++asked >= question, asked: () => asked }
}
const patient = { mayBeOfMemory: () => true, isWaitedFor: () => true, pausesMs: [1, 1, 1, 1] }
const most = patient.pausesMs.length + 1

describe('whether a container was killed for want of memory', () => {
  it('is asked for as long as it may still be told', async () => {
    for (const question of [1, 2, most]) {
      const { ask, asked } = toldAt(question)
      expect(await isToldOfMemory(ask, patient), `at question ${question}`).toBe(true)
      expect(asked()).toBe(question)
    }
    expect(await isToldOfMemory(toldAt(most + 1).ask, patient)).toBe(false)
  })

  it.each([
    ['the kernel has killed nothing meanwhile', { mayBeOfMemory: () => false }],
    ['nobody waits for it any more', { isWaitedFor: () => false }],
  ])('is asked for once where %s', async (_, less) => {
    const late = toldAt(2)
    expect(await isToldOfMemory(late.ask, { ...patient, ...less })).toBe(false)
    expect(late.asked()).toBe(1)
    expect(await isToldOfMemory(toldAt(1).ask, { ...patient, ...less })).toBe(true)
  })

  it('is not told by a daemon that gives no answer', async () => {
    const says = (code: number | null): DockerCli => ({
      ask: async () => ({ code, stdout: 'container oom\n', stderr: '' }),
      startAside: () => expect.fail('nothing is to be started'),
      start: () => expect.fail('nothing is to be started'),
    })
    expect(await hasEventOfMemory(says(0), 'name', '0')).toBe(true)
    for (const code of [1, null]) expect(await hasEventOfMemory(says(code), 'name', '0')).toBe(false)
  })

  it('is known by the count of the kernel only where it was read on the same host', () => {
    const kills = killsOnHost() ?? expect.fail('this kernel does not count')
    expect(anyKillSince(undefined)()).toBe(true)
    expect(anyKillSince(kills - 1)()).toBe(true)
    // Somebody else may have been killed since.
    expect(anyKillSince(kills)()).toBe(killsOnHost() !== kills)
  })
})

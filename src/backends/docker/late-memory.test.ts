import { describe, expect, it } from 'vitest'
import { anyKillSince, isToldOfMemory, killsOnHost } from './late-memory.ts'

/** What is told at the given question, and never before. */
function toldAt(question: number) {
  let asked = 0
  return { ask: async (): Promise<boolean> => ++asked >= question, asked: () => asked }
}
const pausesMs = [1, 1, 1, 1]

describe('whether a container was killed for want of memory', () => {
  it('is asked for as long as it may still be told', async () => {
    for (const question of [1, 2, pausesMs.length + 1]) {
      const { ask, asked } = toldAt(question)
      expect(await isToldOfMemory(ask, () => true, pausesMs), `at question ${question}`).toBe(true)
      expect(asked()).toBe(question)
    }
    expect(await isToldOfMemory(toldAt(pausesMs.length + 2).ask, () => true, pausesMs)).toBe(false)
  })

  it('is asked for once where the kernel has killed nothing meanwhile', async () => {
    const late = toldAt(2)
    expect(await isToldOfMemory(late.ask, () => false, pausesMs)).toBe(false)
    expect(late.asked()).toBe(1)
    expect(await isToldOfMemory(toldAt(1).ask, () => false, pausesMs)).toBe(true)
  })

  it('is known by the count of the kernel only where it was read on the same host', () => {
    const kills = killsOnHost() ?? expect.fail('this kernel does not count')
    expect(anyKillSince(undefined)()).toBe(true)
    expect(anyKillSince(kills - 1)()).toBe(true)
    // Somebody else may have been killed since.
    expect(anyKillSince(kills)()).toBe(killsOnHost() !== kills)
  })
})

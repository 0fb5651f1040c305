import { describe, expect, it } from 'vitest'
import { starters } from './ground.ts'
import { writeTogether } from './write-locks.ts'

describe.each(starters)('two processes of %s that write to one file', (starter) => {
  it('lose nothing, whoever is killed on the way, and take over the lock of a pid that was given out again', async () => {
    const report = await writeTogether({ starter, times: 80, kills: 2, reused: 3 })
    expect(report.faults).toEqual([])
    expect(report).toMatchObject({ kills: 2, takenOver: 3 })
    expect(report.lines).toBeGreaterThanOrEqual(160)
    expect(report.replaced).toBeGreaterThanOrEqual(160)
    expect(report.counted).toBeGreaterThanOrEqual(16)
  })
})

import { describe, expect, it } from 'vitest'
import { symlinkRace } from './symlink-race.ts'

describe.skipIf(process.platform !== 'linux')('symlink race', () => {
  it('no try leaks', async () => {
    const result = await symlinkRace({ tries: 5000, naive: false })
    expect(result).toMatchObject({ tries: 5000, leaks: 0 })
    // The race took place: both sides of the swap were met.
    expect(result.reads).toBeGreaterThan(0)
    expect(result.refusals).toBeGreaterThan(0)
    expect(result.writes).toBeGreaterThan(0)
  })

  it('the naive control leaks', async () => {
    const result = await symlinkRace({ tries: 200_000, naive: true, untilLeak: true })
    expect(result.leaks).toBeGreaterThanOrEqual(1)
  })
})

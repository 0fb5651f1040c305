import { expect, it } from 'vitest'
import { describeWhere } from './describe-where.ts'
import { symlinkRace } from './symlink-race.ts'

describeWhere(process.platform === 'linux', 'files are walked by descriptor on Linux')('symlink race', () => {
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

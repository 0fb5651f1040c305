// Doing the same thing many times leaves memory and descriptors flat. The long form is `script/campaign leaks`.
import { describe, expect, it } from 'vitest'
import { starters } from './ground.ts'
import { allowedGrowthMiB, repeat, type LeakReport } from './leaking.ts'

function expectFlat(report: LeakReport): void {
  expect(new Set(report.descriptors).size, `descriptors: ${report.descriptors.join(' ')}`).toBe(1)
  expect(new Set(report.threads).size, `threads: ${report.threads.join(' ')}`).toBe(1)
  expect(report.grewMiB).toBeLessThan(allowedGrowthMiB)
  expect(report.left).toEqual([])
}

describe.skipIf(process.platform !== 'linux').each(starters)('repetition, started by %s', (starter) => {
  it('commands, failing ones included, leave memory and descriptors flat', async () => {
    expectFlat(await repeat(starter, 'runs', 200))
  })

  it('sandboxes, failing ones included, leave memory and descriptors flat', async () => {
    expectFlat(await repeat(starter, 'creates', 50))
  })
})

// A server in use holds what it held. The long form is `script/campaign soak`, of two hours.
import { describe, expect, it } from 'vitest'
import { soak } from './soak.ts'

describe.skipIf(process.platform !== 'linux')('a server in use', () => {
  it('holds no more memory, descriptors, threads, processes and files than it did', async () => {
    const report = await soak({
      durationMs: 10_000,
      leastRounds: 20,
      warmUpMs: 5000,
      sampleMs: 250,
      callers: 2,
      seed: 3,
    })
    expect(report.faults).toEqual([])
    expect(report.rounds).toBeGreaterThan(10)
    const told = JSON.stringify(report.samples)
    expect(report.grown.rssMiB, told).toBeLessThan(24)
    // What is in hand at the moment goes up and down by more than ten; one that is lost in each round would be sixty.
    expect(report.grown.descriptors, told).toBeLessThanOrEqual(24)
    expect(report.grown.threads, told).toBeLessThanOrEqual(2)
    expect(report.grown.processes, told).toBeLessThanOrEqual(8)
    expect(report.grown.files, told).toBeLessThanOrEqual(60)
  })
})

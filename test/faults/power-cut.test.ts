// Short form of the campaign power-cut: what was answered as durable is there after the power failed, and what is there is
// in order.
import { describe, expect, it } from 'vitest'
import { cutPower, whyNoPowerCut } from './power-cut.ts'

const why = whyNoPowerCut()
const unless = why === undefined ? '' : ` (not run: ${why})`

describe.skipIf(why !== undefined)(`a power cut${unless}`, () => {
  it('takes nothing that was answered as durable, and leaves every run and the audit log in order', async () => {
    const report = await cutPower({ seed: 1, ms: 3500, leastAnswers: 800, cuts: 20, manner: 'honest' })
    expect(report.faults).toEqual([])
    expect(report.cuts).toBe(20)
    expect(report.answers).toBeGreaterThan(2000)
    // The cuts met the disk in the middle of its work: something was unflushed, and some logs ended in the middle.
    expect(report.unflushed).toBeGreaterThan(3)
    expect(report.lostLazy).toBeGreaterThan(0)
    expect(report.repaired).toBeGreaterThan(0)
  })

  it('takes what was answered from a writer that skips fdatasync: the control', async () => {
    const { faults } = await cutPower({ seed: 2, ms: 2500, leastAnswers: 400, cuts: 4, manner: 'forgetful' })
    expect(faults.filter((fault) => /audit record \d+ was answered and is gone/.test(fault))).not.toEqual([])
    expect(faults.filter((fault) => /the intent of [\d-]+ was answered and is gone/.test(fault))).not.toEqual([])
    expect(faults.filter((fault) => /event \d+ was answered as durable and is gone/.test(fault))).not.toEqual([])
  })
})

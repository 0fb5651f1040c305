// Short form of the campaign exec-power-cut: execs of a server whose power fails, and what the next server makes of them.
import { describe, expect, it } from 'vitest'
import { cutPower, whyNoPowerCut } from './power-cut.ts'

const why = whyNoPowerCut('setpriv')
const unless = why === undefined ? '' : ` (not run: ${why})`

describe.skipIf(why !== undefined)(`a power cut of a server with execs${unless}`, () => {
  it('takes no exec that was answered, changes no end that was told, and runs none of them twice', async () => {
    const report = await cutPower({ seed: 1000, ms: 2500, leastAnswers: 60, cuts: 3, manner: 'honest', work: 'execs' })
    expect(report.faults).toEqual([])
    expect(report.cuts).toBe(3)
    // The cuts met the disk in the middle of its work, and there were execs to lose.
    expect(report.unflushed).toBeGreaterThan(0)
    expect(report.runs).toBeGreaterThan(5)
  })

  it('takes what was answered where the disk forgets what it was told to keep: the control', async () => {
    const { faults } = await cutPower({
      seed: 2,
      ms: 2000,
      leastAnswers: 40,
      cuts: 1,
      manner: 'lying',
      work: 'execs',
    })
    expect(faults.filter((fault) => fault.includes('its exec was answered and is gone'))).not.toEqual([])
  })
})

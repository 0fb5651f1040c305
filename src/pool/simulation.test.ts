// The short form of `script/campaign pool-simulation`.
import { describe, expect, it } from 'vitest'
import { simulateMany } from '../../test/fixtures/pool-simulation/batch.ts'
import type { Controls, Outcome } from '../../test/fixtures/pool-simulation/simulate.ts'

const faultsOf = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.flatMap(({ seed, faults }) => faults.map((fault) => `seed ${seed}: ${fault}`))

const timeout = 60_000

describe('a pool of several servers that sleep and die', () => {
  it('has no double owner, no lost sandbox and no orphan, whatever the order of events', { timeout }, async () => {
    const outcomes = await simulateMany({ firstSeed: 1, count: 40 })
    expect(faultsOf(outcomes)).toEqual([])
    const total = (name: keyof Outcome['tally']): number => outcomes.reduce((sum, { tally }) => sum + tally[name], 0)
    for (const name of ['warm', 'discovered', 'created', 'crashes', 'sleeps', 'orphans', 'lost', 'killed'] as const)
      expect(total(name), name).toBeGreaterThan(0)
  })

  it.each<{ readonly control: Controls; readonly firstSeed: number; readonly finds: RegExp }>([
    { control: { withoutFence: true }, firstSeed: 66, finds: /two owners/ },
    { control: { withoutDeadline: true }, firstSeed: 66, finds: /began in .* which is server/ },
  ])('control: $control has a double owner, and it is found', { timeout }, async ({ control, firstSeed, finds }) => {
    const found = faultsOf(await simulateMany({ firstSeed, count: 50, controls: control }))
    expect(found.filter((fault) => finds.test(fault))).not.toEqual([])
  })
})

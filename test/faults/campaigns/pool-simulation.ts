// The pool, its leases, its reaper and its reconcile in many orders of events, each made from its seed: servers acquire, release, reap,
// reconcile, sleep and die. Then the controls: with fencing left out a double owner must be found.
// Usage: script/campaign pool-simulation [interleavings] [first seed]
import { addUp, simulateMany } from '../../fixtures/pool-simulation/batch.ts'
import type { Controls, Outcome } from '../../fixtures/pool-simulation/simulate.ts'

const count = Number(process.argv[2] ?? 100_000)
const firstSeed = Number(process.argv[3] ?? 1)
const atATime = 1_000
const controlCount = Math.min(count, 2_000)

const faultsOf = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.flatMap(({ seed, faults }) => faults.map((fault) => `seed ${seed}: ${fault}`))
const add = (sums: Record<string, number>, more: Readonly<Record<string, number>>): void => {
  for (const [name, value] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + value
}

const sums: Record<string, number> = {}
const faults: string[] = []
for (let done = 0; done < count; done += atATime) {
  const outcomes = await simulateMany({ firstSeed: firstSeed + done, count: Math.min(atATime, count - done) })
  add(sums, addUp(outcomes))
  for (const fault of faultsOf(outcomes)) {
    faults.push(fault)
    console.log(`NOT HELD: ${fault}`)
  }
  console.log(`${sums['interleavings']} interleavings, ${sums['steps']} steps: ${faults.length} not held`)
}
console.log(JSON.stringify(sums))

const controls: readonly Controls[] = [{ withoutFence: true }, { withoutDeadline: true }]
let areControlsBlind = false
for (const control of controls) {
  const found = faultsOf(await simulateMany({ firstSeed, count: controlCount, controls: control }))
  const doubled = found.filter((fault) => fault.includes('two owners') || fault.includes('began in')).length
  console.log(`control ${JSON.stringify(control)}: ${found.length} faults found, ${doubled} of them a double owner`)
  areControlsBlind ||= doubled === 0
}
if (areControlsBlind) console.log('NOT HELD: a control found nothing, so the simulation proves nothing')
process.exitCode = faults.length === 0 && !areControlsBlind ? 0 : 1

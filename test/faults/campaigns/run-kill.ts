// Runs whose process is killed with -9, at random moments and at named places, through the library and through the command
// line. Afterwards every directory opens, nothing that was answered is gone, and every chain holds.
// Usage: script/campaign run-kill [--count 1000] [--cli 100] [--seed 1]; --cli counts for each starter.
import { parseArgs } from 'node:util'
import { starters } from '../ground.ts'
import { killCliRuns } from '../killed-cli-runs.ts'
import { killRuns } from '../killed-runs.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    cli: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
})
const seed = Number(values.seed)
let held = true

interface Report {
  readonly runs: number
  readonly killed: number
  readonly faults: readonly string[]
}

function tell(way: string, { faults, ...figures }: Report): void {
  console.log(`${way}: ${JSON.stringify(figures)}`)
  for (const fault of faults) console.log(`  FAULT ${fault}`)
  held &&= faults.length === 0 && figures.killed >= figures.runs / 2
}

tell('through the library', await killRuns({ count: Number(values.count), seed }))
for (const starter of starters)
  tell(`glovebox run, started by ${starter}`, await killCliRuns({ starter, count: Number(values.cli), seed }))
console.log(held ? 'nothing that was answered is gone' : 'NOT HELD')
process.exitCode = held ? 0 : 1

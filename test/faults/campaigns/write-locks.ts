// Two processes append, replace and count in the same files, ten thousand lines each, while others are killed among them and locks
// of reused pids are planted. Nothing that was answered may be missing.
// Usage: script/campaign write-locks [--times 10000] [--kills 50] [--reused 50]
import { parseArgs } from 'node:util'
import { starters } from '../ground.ts'
import { writeTogether } from '../write-locks.ts'

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '50' },
    reused: { type: 'string', default: '50' },
  },
})
let held = true
for (const starter of starters) {
  const { faults, ...figures } = await writeTogether({
    starter,
    times: Number(values.times),
    kills: Number(values.kills),
    reused: Number(values.reused),
  })
  console.log(`started by ${starter}: ${JSON.stringify(figures)}`)
  for (const fault of faults) console.log(`  FAULT ${fault}`)
  held &&= faults.length === 0 && figures.lines >= 2 * Number(values.times)
}
console.log(held ? 'nothing that was answered is gone' : 'NOT HELD')
process.exitCode = held ? 0 : 1

// Kill -9 of the command line before every system call that changes something, one after the other, until there is no further
// call of that kind. Needs strace. Usage: script/campaign kill-at-call [kinds, by comma] [every nth only]
import { starters } from '../ground.ts'
import { allCalls, hasTracer, killAtCalls } from '../killed-at-call.ts'

const calls = process.argv[2]?.split(',') ?? allCalls
const step = Number(process.argv[3] ?? 1)
const most = 2000

function* everyCall() {
  for (const call of calls) for (let nth = 1; nth <= most; nth += step) yield { call, nth }
}

if (!hasTracer) throw new Error('strace is not installed')
let held = true
for (const starter of starters) {
  const { killed, faults } = await killAtCalls(starter, everyCall())
  const counts = calls.map((call) => `${call} ${killed.filter((each) => each.call === call).length}`)
  console.log(`started by ${starter}: ${killed.length} kills (${counts.join(', ')})`)
  for (const fault of faults) console.log(`  FAULT ${fault}`)
  held &&= faults.length === 0 && killed.length > 0
}
console.log(held ? 'nothing was left' : 'NOT HELD')
process.exitCode = held ? 0 : 1

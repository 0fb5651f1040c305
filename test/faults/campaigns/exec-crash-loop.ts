// Kills the server every 300 ms, also in the middle of its start, and looks at what the last one makes of it.
// Usage: script/campaign exec-crash-loop [seconds] [bwrap | docker | docker-runsc]
import { crashLoop } from '../exec-crash-loop.ts'
import { execTarget } from '../exec-targets.ts'

const seconds = Number(process.argv[2] ?? 60)
const target = execTarget(process.argv[3] ?? 'bwrap')
const { faults, ...figures } = await crashLoop({ target, forMs: seconds * 1000, mostSent: seconds * 5 })
console.log(`${seconds} s on ${target.name}: ${JSON.stringify(figures)}`)
for (const fault of faults) console.log(`NOT HELD: ${fault}`)
process.exitCode = faults.length === 0 && figures.kills.serving > 0 && figures.answered > 0 ? 0 : 1

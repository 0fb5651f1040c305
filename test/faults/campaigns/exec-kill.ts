// Kills the server at random moments under load, and looks at what the next one makes of it.
// Usage: script/campaign exec-kill [rounds] [bwrap | docker | docker-runsc]
import { execTarget } from '../exec-targets.ts'
import { killRound } from '../killed-exec-server.ts'

const rounds = Number(process.argv[2] ?? 200)
const target = execTarget(process.argv[3] ?? 'bwrap')
const faults: string[] = []
const statuses: Record<string, number> = {}
let answered = 0
for (let round = 1; round <= rounds; round++) {
  const afterMs = Math.floor(Math.random() * target.longestMs)
  const result = await killRound(afterMs, target.options, target.traces)
  answered += result.answered.length
  for (const [status, count] of Object.entries(result.statuses)) statuses[status] = (statuses[status] ?? 0) + count
  for (const fault of result.faults) faults.push(`round ${round}, after ${afterMs} ms: ${fault}`)
  if (round % 10 === 0) console.log(`${round} rounds: ${JSON.stringify(statuses)}, ${faults.length} not held`)
}
console.log(`${rounds} kills on ${target.name}, ${answered} execs answered before them: ${JSON.stringify(statuses)}`)
for (const fault of faults) console.log(`NOT HELD: ${fault}`)
process.exitCode = faults.length === 0 ? 0 : 1

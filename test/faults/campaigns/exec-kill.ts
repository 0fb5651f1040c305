// Kills the server at random moments under load, and looks at what the next one makes of it.
// Usage: script/campaign exec-kill [rounds]
import { killRound } from '../killed-exec-server.ts'

const rounds = Number(process.argv[2] ?? 200)
const faults: string[] = []
const statuses: Record<string, number> = {}
let answered = 0
for (let round = 1; round <= rounds; round++) {
  const afterMs = Math.floor(Math.random() * 800)
  const result = await killRound(afterMs)
  answered += result.answered.length
  for (const [status, count] of Object.entries(result.statuses)) statuses[status] = (statuses[status] ?? 0) + count
  for (const fault of result.faults) faults.push(`round ${round}, after ${afterMs} ms: ${fault}`)
  if (round % 20 === 0) console.log(`${round} rounds: ${JSON.stringify(statuses)}, ${faults.length} not held`)
}
console.log(`${rounds} kills, ${answered} execs answered before them: ${JSON.stringify(statuses)}`)
for (const fault of faults) console.log(`NOT HELD: ${fault}`)
process.exitCode = faults.length === 0 ? 0 : 1

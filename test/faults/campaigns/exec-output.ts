// 10 GB on each output of an exec of the server, with 50 readers that take nothing.
// Usage: script/campaign exec-output [bytes]
import { shell, startExecServer } from '../../fixtures/exec-server.ts'
import { allowedGrowthMiB, flood, isGapless, readInPieces } from '../exec-output.ts'

const bytes = Number(process.argv[2] ?? 10 * 1024 ** 3)
const faults: string[] = []
const check = (what: string, holds: boolean): void => void (holds || faults.push(what))

const server = await startExecServer()
const flooded = await flood(server, bytes, 50)
console.log(`${bytes} bytes on each output: ${JSON.stringify(flooded)}`)
check('memory is bounded', flooded.grewMiB <= allowedGrowthMiB)
check('the exit code was kept', flooded.exitCode === 7)
check('truncation was told', flooded.truncated)

const exec = await server.begin(shell('for i in $(seq 1 2000); do echo "line $i"; done; sleep 0.2'))
for (const eventsAtOnce of [1, 3, 50]) {
  const events = await readInPieces(server, exec.exec_id, eventsAtOnce)
  check(`read ${eventsAtOnce} at once: every byte once`, isGapless(events, 'stdout'))
}
await server.remove()
for (const fault of faults) console.log(`NOT HELD: ${fault}`)
if (faults.length === 0) console.log('output is bounded, and every byte is read once')
process.exitCode = faults.length === 0 ? 0 : 1

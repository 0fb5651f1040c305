// 10 GB on each output of an exec of the server, with 50 readers that take nothing or one byte in a second; and how long some of it takes with
// and without them.
// Usage: script/campaign exec-output [bytes] [bwrap|docker|docker-runsc]
import { shell, startExecServer } from '../../fixtures/exec-server.ts'
import { allowedGrowthMiB, flood, isGapless, readInPieces } from '../exec-output.ts'
import { execTarget } from '../exec-targets.ts'

const bytes = Number(process.argv[2] ?? 10 * 1024 ** 3)
const target = execTarget(process.argv[3] ?? 'bwrap')
const slowReaders = 50
const rounds = 3
/** Of the medians. Fifty readers that come cost some half a second of two cores, once; what is meant is that they hold nobody up then. */
const mostSlowed = 1.25
const faults: string[] = []
const check = (what: string, holds: boolean): void => void (holds || faults.push(what))
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const server = await startExecServer(target.options)
const flooded = await flood(server, bytes, slowReaders)
console.log(`${target.name}: ${bytes} bytes on each output: ${JSON.stringify(flooded)}`)
check('memory is bounded', flooded.grewMiB <= allowedGrowthMiB)
check('the exit code was kept', flooded.exitCode === 7)
check('truncation was told', flooded.truncated)
for (const eventsAtOnce of [1, 7]) {
  const events = await readInPieces(server, flooded.execId, eventsAtOnce)
  check(`what was kept of it, read ${eventsAtOnce} at once: every byte once`, isGapless(events, 'stdout'))
}

const exec = await server.begin(shell('for i in $(seq 1 2000); do echo "line $i"; done; sleep 0.2'))
for (const eventsAtOnce of [1, 3, 50]) {
  const events = await readInPieces(server, exec.exec_id, eventsAtOnce)
  check(`read ${eventsAtOnce} at once: every byte once`, isGapless(events, 'stdout'))
}

// In turn, so that what else goes on here disturbs both.
const ms = { without: [] as number[], with: [] as number[] }
for (let round = 0; round < rounds; round++) {
  ms.without.push((await flood(server, bytes, 0)).durationMs ?? Number.NaN)
  ms.with.push((await flood(server, bytes, slowReaders)).durationMs ?? Number.NaN)
}
const slowed = median(ms.with) / median(ms.without)
console.log(`with ${slowReaders} such readers ÷ without: ${slowed.toFixed(2)} ${JSON.stringify(ms)}`)
check('slow readers do not slow the exec', slowed <= mostSlowed)

await server.remove()
for (const fault of faults) console.log(`NOT HELD: ${fault}`)
if (faults.length === 0) console.log('output is bounded, every byte is read once, and readers slow nobody')
process.exitCode = faults.length === 0 ? 0 : 1

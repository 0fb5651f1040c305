// Requests that almost fit, made from the document, for minutes; no answer may be a fault, nor against the document, nor without a token, and
// the server's loop and memory stay within their bounds. Usage: script/campaign server-fuzz [MINUTES, 5 unless told; 60 each night] [--seed 1]
import { parseArgs } from 'node:util'
import { chosenSeed, fuzz, mostLagMs } from '../server-fuzz.ts'
import { startServer } from '../server-ground.ts'
import { makeObjects } from '../server-objects.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string' }, seed: { type: 'string', default: String(chosenSeed()) } },
})
const minutes = Number(positionals[0] ?? values.minutes ?? 5)
const seed = Number(values.seed)
if (!(minutes > 0) || !Number.isSafeInteger(seed)) throw new Error('minutes and the seed must be numbers')
/** With a body of 32 MiB as bytes, as text, as what was read and as what is written of it, until V8 collects them. */
const mostGrownMiB = 600

console.log(`seed ${seed}, ${minutes} minutes`)
const ground = await startServer({
  flags: ['--grace', '1s', '--log-level', 'error', '--limit', 'uploadFiles=1000000'],
})
try {
  const objects = await makeObjects(ground, 'fuzzed')
  const report = await fuzz(ground, objects, {
    seed,
    forMs: minutes * 60_000,
    largeEach: 40,
    skip: ({ id }) => id === 'deleteSandboxesSandboxId',
  })
  const { faults, lags, byStatus, ...figures } = report
  console.log(JSON.stringify({ seed, ...figures, byStatus: Object.fromEntries(byStatus) }))
  for (const fault of faults) console.log(`FAULT ${fault}`)
  for (const lag of lags) console.log(`LAG ${lag}`)
  console.log(ground.log())
  const isWithin = report.longestLagMs < mostLagMs && report.grownMiB < mostGrownMiB
  process.exitCode = faults.length === 0 && isWithin && report.requests > 100 * minutes ? 0 : 1
} finally {
  await ground.stop()
}

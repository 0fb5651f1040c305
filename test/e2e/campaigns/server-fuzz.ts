// Requests that almost fit, made from the document, for minutes. Usage: script/campaign server-fuzz [--minutes 5] [--seed 1]
import { parseArgs } from 'node:util'
import { fuzz } from '../server-fuzz.ts'
import { startServer } from '../server-ground.ts'
import { makeObjects } from '../server-objects.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, seed: { type: 'string', default: String(Date.now() % 1e6) } },
})
const ground = await startServer({ flags: ['--grace', '1s', '--log-level', 'error', '--limit', 'uploadFiles=1000000'] })
try {
  const objects = await makeObjects(ground, 'fuzzed')
  const report = await fuzz(ground, objects, {
    seed: Number(values.seed),
    forMs: Number(values.minutes) * 60_000,
    skip: ({ id }) => id === 'deleteSandboxesSandboxId',
  })
  const { faults, byStatus, ...figures } = report
  console.log(JSON.stringify({ seed: values.seed, ...figures, byStatus: Object.fromEntries(byStatus) }))
  for (const fault of faults) console.log(`FAULT ${fault}`)
  console.log(ground.log())
  process.exitCode = faults.length === 0 && report.slowestHealthMs < 1000 && report.grownMiB < 200 ? 0 : 1
} finally {
  await ground.stop()
}

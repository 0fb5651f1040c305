// script/bench: every number of SPECIFICATION.md, measured in one run. Ends with 1 if a promise does not hold.
import { cpus, loadavg } from 'node:os'
import { auditBenches } from './audit.ts'
import { catalogBenches } from './catalog.ts'
import { changesBenches } from './changes.ts'
import { cliBench } from './cli.ts'
import { dockerBenches } from './docker.ts'
import { execBenches, workspaceBench } from './exec.ts'
import { flatBench } from './flat.ts'
import { forkBenches } from './fork.ts'
import { lockBenches } from './locks.ts'
import { poolBenches, poolHttpBenches, poolIdleBench } from './pool.ts'
import type { Result } from './result.ts'
import { runsBenches } from './runs.ts'
import { searchBenches } from './search.ts'
import { serverBenches } from './server.ts'
import { shellBenches } from './shells.ts'
import { serverStartBench } from './server-start.ts'

const benches = {
  exec: execBenches,
  workspace: workspaceBench,
  cli: cliBench,
  search: searchBenches,
  flat: flatBench,
  audit: auditBenches,
  locks: lockBenches,
  catalog: catalogBenches,
  runs: runsBenches,
  changes: changesBenches,
  fork: forkBenches,
  shells: shellBenches,
  docker: dockerBenches,
  pool: poolBenches,
  'pool-http': poolHttpBenches,
  'pool-idle': poolIdleBench,
  server: serverBenches,
  'server-start': serverStartBench,
} as const

const args = process.argv.slice(2)
const json = args.includes('--json')
const asked = args.filter((arg) => !arg.startsWith('--'))
const unknown = [
  ...asked.filter((name) => !Object.hasOwn(benches, name)),
  ...args.filter((arg) => arg.startsWith('--') && arg !== '--json'),
]
if (unknown.length > 0) {
  process.stderr.write(`Unknown: ${unknown.join(' ')}. Benches: ${Object.keys(benches).join(' ')}. Flag: --json.\n`)
  process.exit(2)
}

const results: Result[] = []
for (const [name, bench] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  if (!json) process.stderr.write(`measuring ${name} …\n`)
  results.push(...(await bench()))
}
const host = {
  node: process.version,
  cores: cpus().length,
  load: loadavg()[0],
  startedByRoot: process.getuid?.() === 0,
}
if (json) process.stdout.write(`${JSON.stringify({ host, results }, null, 2)}\n`)
else
  for (const { name, promise, measured, unit, holds } of results)
    process.stdout.write(
      `${holds ? 'holds ' : 'BROKEN'}  ${name}: ${measured} ${unit === 'ratio' ? '' : unit} (${promise})\n`,
    )
// The neighbour's library leaves its proxies listening.
process.exit(results.every((result) => result.holds) ? 0 : 1)

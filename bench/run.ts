// script/bench: every number of SPECIFICATION.md, measured in one run. Ends with 1 if a promise does not hold.
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { auditBenches } from './audit.ts'
import { catalogBenches } from './catalog.ts'
import { changesBenches } from './changes.ts'
import { cliBench } from './cli.ts'
import { dockerBenches } from './docker.ts'
import { execBenches, workspaceBench } from './exec.ts'
import { flatBench } from './flat.ts'
import { floodBenches } from './flood.ts'
import { forkBenches } from './fork.ts'
import { lockBenches } from './locks.ts'
import { poolBenches, poolHttpBenches, poolIdleBench } from './pool.ts'
import type { Result } from './result.ts'
import { runsBenches } from './runs.ts'
import { searchBenches } from './search.ts'
import { serverBenches } from './server.ts'
import { shellBenches } from './shells.ts'
import { serverStartBench } from './server-start.ts'
import { tokenBenches } from './tokens.ts'

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
  tokens: tokenBenches,
  flood: floodBenches,
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

// What is measured is nobody's work: it has no place among the operator's sandboxes, nor in the audit log.
const state = mkdtempSync(join(tmpdir(), 'glovebox-bench-state-'))
process.env['GLOVEBOX_STATE_DIR'] = state
process.on('exit', () => rmSync(state, { recursive: true, force: true }))

const tell = ({ name, promise, measured, unit, holds }: Result): void =>
  void process.stdout.write(
    `${holds ? 'holds ' : 'BROKEN'}  ${name}: ${measured} ${unit === 'ratio' ? '' : unit} (${promise})\n`,
  )

const results: Result[] = []
for (const [name, bench] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  if (!json) process.stderr.write(`measuring ${name} …\n`)
  const measured = await bench()
  results.push(...measured)
  if (!json) measured.forEach(tell)
}
const host = {
  node: process.version,
  cores: cpus().length,
  load: loadavg()[0],
  startedByRoot: process.getuid?.() === 0,
}
if (json) process.stdout.write(`${JSON.stringify({ host, results }, null, 2)}\n`)
// The neighbour's library leaves its proxies listening.
process.exit(results.every((result) => result.holds) ? 0 : 1)

// Two and four servers on one Docker and one PostgreSQL, killed and stopped at random. Needs both.
// Usage: script/campaign pool-servers [seconds of each, default 300] [seed] [backend]
import { spawnSync } from 'node:child_process'
import { runServers } from '../pool-servers.ts'

const [seconds = '300', seedText = String(Date.now() % 1_000_000), backend = 'docker'] = process.argv.slice(2)
if (backend !== 'docker' && backend !== 'bwrap') throw new Error('the backend is docker or bwrap')
if (backend === 'docker' && spawnSync('docker', ['version']).status !== 0)
  throw new Error('no Docker daemon answers: script/dockerd starts one, script/docker-image makes the image')
let held = true
for (const servers of [2, 4]) {
  const seed = Number(seedText) + servers
  const durationMs = Number(seconds) * 1000
  const report = await runServers({ backend, servers, keys: 6, callers: 6, durationMs, leaseSeconds: 3, seed })
  const { kills, stops, answered, grants, handovers, refusals, faults } = report
  console.log(
    `${servers} servers on ${backend}, ${seconds} s, seed ${seed}: ${kills} killed, ${stops} stopped; ${answered} commands answered, ` +
      `${grants} grants seen, ${handovers} handovers; refused: ${JSON.stringify(refusals)}`,
  )
  for (const fault of faults) console.log(`NOT HELD: ${fault}`)
  held &&= faults.length === 0 && answered > 0 && handovers > 0
}
console.log(held ? 'held' : 'NOT HELD')
process.exitCode = held ? 0 : 1

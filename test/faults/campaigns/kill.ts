// Kill -9 of the host process at random moments of its life: from the library and from the command line, started by root
// and by an ordinary user. Usage: script/campaign kill [kills each way]
import { starters } from '../ground.ts'
import { killHosts, ways } from '../killed.ts'

const kills = Number(process.argv[2] ?? 500)
/** In the suite, on a machine that others use too, it is only told apart from what stays. */
const goneWithinMs = 1000
let held = true
for (const starter of starters) {
  for (const way of ways) {
    const { faults, moments, ...figures } = await killHosts({ starter, way, kills })
    console.log(`${way}, started by ${starter}: ${JSON.stringify(figures)} met at ${JSON.stringify(moments)}`)
    for (const fault of faults) console.log(`  FAULT ${fault}`)
    held &&= faults.length === 0 && figures.metGuest > 0 && figures.leftState > 0
    held &&= figures.slowestEndMs <= goneWithinMs
  }
}
console.log(held ? 'nothing was left' : 'NOT HELD')
process.exitCode = held ? 0 : 1

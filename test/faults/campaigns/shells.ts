// 10,000 commands in a row in one shell, then 50 shells at once, then a kill -9 while things run in shells: on every backend here.
// Usage: script/campaign shells [commands] [shells] [backend …]
import { faultGround, starters } from '../ground.ts'
import { backendsHere, killHolder, runMarathon, type ShellBackend } from '../shell-hosts.ts'

const commands = Number(process.argv[2] ?? 10_000)
const shells = Number(process.argv[3] ?? 50)
const asked = process.argv.slice(4) as ShellBackend[]
const faults: string[] = []

for (const starter of starters) {
  for (const backend of backendsHere()) {
    if ((backend === 'docker' && starter === 'user') || (asked.length > 0 && !asked.includes(backend))) continue
    const ground = faultGround(starter)
    const report = await runMarathon(ground, { backend, commands, shells })
    const { met, survivors } = await killHolder(ground, backend)
    const { before, after } = report.descriptors
    console.log(
      `${backend}, started by ${starter}: ${commands} commands of ${report.perCommandMs.toFixed(2)} ms, ${shells} shells, ` +
        `descriptors ${before} → ${after}, killed with ${met} alive, ${survivors.length} left`,
    )
    faults.push(...report.faults, ...survivors)
    if (after > before) faults.push(`${backend}: ${after - before} descriptors were left open`)
    if (met < 5) faults.push(`${backend}: the kill met only ${met}`)
    ground.remove()
  }
}
for (const fault of faults) console.log(`NOT HELD: ${fault}`)
if (faults.length === 0) console.log('shells hold')
process.exitCode = faults.length === 0 ? 0 : 1

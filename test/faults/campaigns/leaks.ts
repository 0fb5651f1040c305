// A thousand commands, and a quarter as many sandboxes, one after the other. Usage: script/campaign leaks [commands]
import { starters } from '../ground.ts'
import { allowedGrowthMiB, repeat } from '../leaking.ts'

const times = Number(process.argv[2] ?? 1000)
let held = true
for (const starter of starters) {
  for (const scenario of ['runs', 'creates'] as const) {
    const report = await repeat(starter, scenario, scenario === 'runs' ? times : Math.ceil(times / 4))
    const { descriptors, threads, grewMiB, kibPerStep, left } = report
    const flat =
      new Set(descriptors).size === 1 && new Set(threads).size === 1 && grewMiB < allowedGrowthMiB && left.length === 0
    held &&= flat
    console.log(
      `${report.times} ${scenario}, started by ${starter}: descriptors ${descriptors.join(' ')}; threads ${threads.join(' ')}; ` +
        `memory ${grewMiB.toFixed(1)} MiB, ${kibPerStep.toFixed(2)} KiB each; left ${left.length}${flat ? '' : '  NOT FLAT'}`,
    )
  }
}
process.exitCode = held ? 0 : 1

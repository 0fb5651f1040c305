// A server in use for two hours: what it holds must not grow. Usage: script/campaign soak [minutes, default 120] [callers] [seed]
import { heldThings, soak } from '../soak.ts'

const [minutes = '120', callers = '4', seed = '1'] = process.argv.slice(2)
const minuteMs = 60_000
/** What a middle may be above another by chance. Memory: what V8 and glibc move between. */
const allowed = { rssMiB: 24, descriptors: 8, threads: 2, processes: 8, files: 60 } as const

const durationMs = Number(minutes) * minuteMs
const report = await soak({
  durationMs,
  warmUpMs: Math.min(2 * minuteMs, durationMs / 4),
  sampleMs: Math.max(1000, durationMs / 400),
  callers: Number(callers),
  seed: Number(seed),
})
console.log(`${minutes} min, ${report.rounds} sandboxes used by ${callers} callers, ${report.samples.length} samples`)
let held = report.faults.length === 0
for (const thing of heldThings) {
  const [first, last] = [report.samples[0]?.[thing] ?? 0, report.samples.at(-1)?.[thing] ?? 0]
  const isFlat = report.grown[thing] <= allowed[thing]
  held &&= isFlat
  console.log(
    `${thing}: ${first.toFixed(1)} … ${last.toFixed(1)}, grown by ${report.grown[thing].toFixed(1)}, ` +
      `${report.perHour[thing].toFixed(2)} an hour${isFlat ? '' : '  NOT FLAT'}`,
  )
}
for (const fault of report.faults.slice(0, 20)) console.log(`NOT HELD: ${fault}`)
process.exitCode = held ? 0 : 1

// Power cuts while runs and audit records are written; the last line is the control, a writer that skips fdatasync.
// Usage: script/campaign power-cut [cuts] [seed]
import { cutPower, whyNoPowerCut } from '../power-cut.ts'

const cuts = Number(process.argv[2] ?? 500)
const firstSeed = Number(process.argv[3] ?? Date.now() % 100_000)
/** One recording lasts long enough for the lazy sync to matter, and is cut as often as it has different things to show. */
const cutsEach = 50

const why = whyNoPowerCut()
if (why !== undefined) throw new Error(`Cannot cut the power: ${why}`)
let held = true
for (let done = 0, seed = firstSeed; done < cuts; done += cutsEach, seed++) {
  const { faults, ...figures } = await cutPower({
    seed,
    ms: 5000,
    cuts: Math.min(cutsEach, cuts - done),
    manner: 'honest',
  })
  console.log(`seed ${seed}: ${JSON.stringify(figures)}`)
  for (const fault of faults) console.log(`  FAULT ${fault}`)
  held &&= faults.length === 0 && figures.unflushed > 0
}
const control = await cutPower({ seed: firstSeed, ms: 3000, cuts: 5, manner: 'forgetful' })
const gone = control.faults.filter((fault) => fault.includes('was answered'))
console.log(`control, without fdatasync: ${gone.length} answered things are gone`)
held &&= gone.length > 0
console.log(held ? 'nothing that was answered is gone' : 'NOT HELD')
process.exitCode = held ? 0 : 1

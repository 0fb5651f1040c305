// Power cuts while a server is asked for execs, with the next server of another boot at every second recording; the last line is the control, a
// disk that forgets what it was told to keep.
// Usage: script/campaign exec-power-cut [cuts] [seed]
import { cutPower, whyNoPowerCut } from '../power-cut.ts'

const cuts = Number(process.argv[2] ?? 40)
const firstSeed = Number(process.argv[3] ?? Date.now() % 100_000)
const cutsEach = 5

const why = whyNoPowerCut('setpriv')
if (why !== undefined) throw new Error(`Cannot cut the power: ${why}`)
const work = 'execs'
let held = true
for (let done = 0, seed = firstSeed; done < cuts; done += cutsEach, seed++) {
  const bootsAnew = (done / cutsEach) % 2 === 1
  const some = Math.min(cutsEach, cuts - done)
  const { faults, ...figures } = await cutPower({
    seed,
    ms: 4000,
    leastAnswers: 60,
    cuts: some,
    manner: 'honest',
    work,
    bootsAnew,
  })
  console.log(`seed ${seed}${bootsAnew ? ', another boot' : ''}: ${JSON.stringify(figures)}`)
  for (const fault of faults) console.log(`  FAULT ${fault}`)
  held &&= faults.length === 0 && figures.unflushed > 0
}
const control = await cutPower({ seed: firstSeed, ms: 3000, leastAnswers: 40, cuts: 1, manner: 'lying', work })
const gone = control.faults.filter((fault) => fault.includes('was answered'))
console.log(`control, with a disk that forgets: ${gone.length} answered things are gone`)
held &&= gone.length > 0
console.log(held ? 'nothing that was answered is gone' : 'NOT HELD')
process.exitCode = held ? 0 : 1

// Writes a run as fast as it can and says what it was answered, until it is killed or the run has ended.
// Arguments: the built package, the run directory, `write` or `open`, a seed, failpoints.
import { writeSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , dist, directory, verb, seed, failpoints] = process.argv
const load = (name) => import(join(dist, 'runs', `${name}.js`))
const [{ createRun }, { openRun }, { parseFailpoints }] = await Promise.all(['run', 'open', 'failpoints'].map(load))
const failpoint = parseFailpoints(failpoints ?? '')

/** Straight to the pipe: what the other side has read was answered before the kill. */
const say = (word, value = '') => writeSync(1, `${word} ${value}\n`)

let state = Number(seed) || 1
const chance = (below) => (state = (state * 1103515245 + 12345) % 2147483648) % below

const note = (run, durability) =>
  run
    .append(
      { type: 'note', summary: 'x'.repeat(chance(900)), data: { text: 'y'.repeat(chance(3000)) } },
      { durability },
    )
    .then(({ seq }) => say('seq', seq))

async function write() {
  say('ready')
  const run = await createRun({ config: { seed }, prompt: 'Write.', sandboxPath: directory, failpoint })
  say('state', 'pending')
  say('state', (await run.transition('running')).status)
  const rounds = 5 + chance(40)
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: 1 + chance(8) }, () => note(run, chance(2) === 0 ? 'D1' : 'D2')))
    if (chance(4) === 0) writeFileSync(join(directory, 'deliverables', `file-${round}`), 'z'.repeat(chance(50_000)))
    if (chance(5) === 0) await run.recordSystemPrompt(`Round ${round}.`)
    if (chance(3) === 0) run.say(`Round ${round}.\n`)
    if (chance(4) === 0) {
      say('state', (await run.transition('waiting_for_tool')).status)
      say('state', (await run.transition('running')).status)
    }
  }
  say('state', (await run.transition('completed')).status)
  await run.close()
}

async function open() {
  say('ready')
  const { run } = await openRun(directory, { failpoint })
  say('state', run.record.status)
  await run.close()
}

await (verb === 'open' ? open() : write())

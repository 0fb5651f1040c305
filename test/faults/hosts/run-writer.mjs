// Writes a run as fast as it can and says what it was answered, until it is killed or the run has ended. The argument is
// JSON: `dist` (the built package), `directory` (of the run), `verb` (`write` or `open`), `seed`, `failpoints`, and `audit`,
// a directory in which everything that is begun is recorded first.
import { writeSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chances } from './chance.mjs'

const { dist, directory, verb, seed, failpoints, audit: auditPlace } = JSON.parse(process.argv[2])
const load = (name) => import(join(dist, `${name}.js`))
const [{ createRun }, { openRun }, { parseFailpoints }, { openActionLog, keep }, { openAuditLog }] = await Promise.all(
  ['runs/run', 'runs/open', 'runs/failpoints', 'runs/action-log', 'audit/log'].map(load),
)
const failpoint = parseFailpoints(failpoints)
const chance = chances(seed)

/** Straight to the pipe: what the other side has read was answered before the kill. */
const say = (word, ...values) => writeSync(1, `${[word, ...values].join(' ')}\n`)

say('ready')
const audit = await openAuditLog({ directory: join(auditPlace, 'audit'), keyDirectory: join(auditPlace, 'keys') })

/** Intent, effect, outcome: as every change of a run is made. */
async function audited(action, effect) {
  const intent = await audit.begin({ actor: 'test', action, subject: directory.slice(-100) })
  say('audit', intent.seq)
  const result = await effect()
  say('audit', (await intent.done()).seq)
  return result
}

const move = (run, to) =>
  audited('run.transition', async () => {
    const { status } = await run.transition(to)
    say('state', status)
  })

const note = (run, durability) =>
  run
    .append(
      { type: 'note', summary: 'x'.repeat(chance(900)), data: { text: 'y'.repeat(chance(3000)) } },
      { durability },
    )
    .then(({ seq, hash }) => say('seq', seq, hash))

async function act(run, log, number) {
  await run.append({ type: 'action_started', summary: 'It began.', data: { number } }, { durability: 'D2' })
  const files = { 'action.json': keep(Buffer.from(`{"number":${number}}\n`)), stdout: keep(Buffer.alloc(chance(9000))) }
  log.write(number, files)
  const hashes = Object.fromEntries(Object.entries(files).map(([name, { sha256 }]) => [name, sha256]))
  const ended = { type: 'action_ended', summary: 'It ended.', data: { number, hashes } }
  const { seq, hash } = await run.append(ended, { durability: 'D2' })
  say('seq', seq, hash)
}

async function write() {
  const options = { config: { seed }, prompt: 'Write.', sandboxPath: directory, failpoint }
  const run = await audited('run.create', async () => {
    const made = await createRun(options)
    say('state', 'pending')
    return made
  })
  await move(run, 'running')
  const log = openActionLog(directory)
  const rounds = 5 + chance(40)
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: 1 + chance(8) }, () => note(run, chance(2) === 0 ? 'D1' : 'D2')))
    if (chance(4) === 0) writeFileSync(join(directory, 'deliverables', `file-${round}`), 'z'.repeat(chance(50_000)))
    if (chance(5) === 0) await run.recordSystemPrompt(`Round ${round}.`)
    if (chance(3) === 0) run.say(`Round ${round}.\n`)
    if (chance(3) === 0) await act(run, log, round + 1)
    if (chance(4) === 0) {
      await move(run, 'waiting_for_tool')
      await move(run, 'running')
    }
  }
  await log.close()
  await move(run, 'completed')
  await run.close()
}

async function open() {
  const { run } = await openRun(directory, { failpoint })
  say('state', run.record.status)
  await run.close()
}

await (verb === 'open' ? open() : write())
await audit.close()

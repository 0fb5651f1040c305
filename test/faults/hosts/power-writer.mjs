// Writes runs and audit records as fast as it is answered, and tells each answer before it asks for the next thing. With
// `forgetful` no fdatasync reaches the disk: the control, without which a harness that finds nothing would prove nothing.
// Arguments: the built package, where to write, the file for answers, a seed, `honest` or `forgetful`. Prints a point for each answer.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { chances } from './chance.mjs'

const [, , dist, place, answers, seed, manner] = process.argv
if (manner === 'forgetful') {
  fs.fdatasync = (_fd, done) => process.nextTick(done, null)
  syncBuiltinESMExports()
}
const { createRun } = await import(join(dist, 'runs', 'run.js'))
const { openActionLog, keep } = await import(join(dist, 'runs', 'action-log.js'))
const { openAuditLog } = await import(join(dist, 'audit', 'log.js'))
const { runs } = await import(join(dist, 'index.js'))

const out = fs.openSync(answers, 'a')
const told = (answer) => {
  fs.writeSync(out, `${JSON.stringify(answer)}\n`)
  fs.writeSync(1, '.')
}

const keptRuns = 5
const chance = chances(seed)

fs.mkdirSync(join(place, 'runs'))
fs.mkdirSync(join(place, 'effects'))
// Where runs lie is the operator's and was there before; only what comes into it is a matter of ours.
fs.fsyncSync(fs.openSync(place, 'r'))

async function note(run, name, durability) {
  const { seq, hash } = await run.append(
    { type: 'note', summary: 'x'.repeat(chance(500)), data: { text: 'y'.repeat(chance(2000)) } },
    { durability },
  )
  told({ what: 'event', run: name, seq, hash, durability })
}

async function move(run, name, to) {
  const { status } = await run.transition(to)
  told({ what: 'state', run: name, status })
}

async function act(run, name, log, number) {
  await run.append({ type: 'action_started', summary: 'It began.', data: { number } }, { durability: 'D2' })
  const files = {
    'action.json': keep(Buffer.from(`{"number":${number}}\n`)),
    stdout: keep(Buffer.alloc(chance(9000), 'z')),
  }
  log.write(number, files)
  const hashes = Object.fromEntries(Object.entries(files).map(([file, { sha256 }]) => [file, sha256]))
  const data = { number, hashes }
  const { seq, hash } = await run.append({ type: 'action_ended', summary: 'It ended.', data }, { durability: 'D2' })
  told({ what: 'event', run: name, seq, hash, durability: 'D2' })
  told({ what: 'action', run: name, number })
}

/** The disk is small. Told before it happens: what goes is no longer owed. */
function remove(name) {
  told({ what: 'removed', run: name })
  fs.rmSync(join(place, 'runs', name), { recursive: true })
}

/** One run after the other, from its creation to its end. */
async function work(lane) {
  for (let count = 0; ; count++) {
    const name = `run-${lane}-${count}`
    const directory = join(place, 'runs', name)
    const run = await createRun({ config: { lane }, prompt: 'Write.', sandboxPath: directory })
    told({ what: 'state', run: name, status: 'pending' })
    await move(run, name, 'running')
    const log = openActionLog(directory)
    const rounds = 4 + chance(12)
    for (let round = 0; round < rounds; round++) {
      await Promise.all(Array.from({ length: 1 + chance(4) }, () => note(run, name, chance(2) === 0 ? 'D1' : 'D2')))
      if (chance(2) === 0)
        fs.writeFileSync(join(directory, 'deliverables', `file-${round}`), 'z'.repeat(chance(20_000)))
      if (chance(2) === 0) fs.writeFileSync(join(directory, 'workspace', `file-${round}`), 'z'.repeat(chance(20_000)))
      if (chance(3) === 0) await run.recordSystemPrompt(`Round ${round}.`)
      if (chance(2) === 0) run.say(`Round ${round}.\n`)
      if (chance(2) === 0) await act(run, name, log, round + 1)
    }
    await log.close()
    await move(run, name, 'completed')
    await run.close()
    if (count >= keptRuns) remove(`run-${lane}-${count - keptRuns}`)
  }
}

/** Whole runs as the library performs them: workplace, change sets, kept contents, manifests, audit. */
async function perform(lane) {
  for (let count = 0; ; count++) {
    const name = `run-${lane}-${count}`
    const { record } = await runs.start({
      prompt: 'Work.',
      sandboxPath: join(place, 'runs', name),
      backend: 'local',
      executor: { name: 'writer', execute: ({ sandbox }) => changeFiles(sandbox) },
      onEvent: ({ seq, hash }) => told({ what: 'event', run: name, seq, hash, durability: 'D2' }),
    })
    for (const status of ['pending', 'running', record.status]) told({ what: 'state', run: name, status })
    told({ what: 'ended', runId: record.run_id })
    if (count >= keptRuns) remove(`run-${lane}-${count - keptRuns}`)
  }
}

async function changeFiles(sandbox) {
  for (let round = 0; round < 6; round++) {
    await sandbox.files.write(`/workspace/f${chance(3)}`, 'w'.repeat(chance(5000)))
    await sandbox.files.write(`/deliverables/f${round}`, 'd'.repeat(chance(5000)))
  }
  return { status: 'completed', summary: 'It is done.' }
}

/** Nothing but progress: what is never asked to be durable must be so within a second all the same. */
async function trickle() {
  const run = await createRun({ config: {}, prompt: 'Tell.', sandboxPath: join(place, 'runs', 'trickle') })
  told({ what: 'state', run: 'trickle', status: 'pending' })
  await move(run, 'trickle', 'running')
  for (;;) {
    await note(run, 'trickle', 'D2')
    await delay(20)
  }
}

/** As the server does what is quick: the effect begins when its intent is written, and is told when the intent is on disk. */
async function actQuickly(log, entry) {
  const intent = await log.beginWritten(entry)
  fs.writeFileSync(join(place, 'effects', entry.subject), '')
  await intent.onDisk()
  told({ what: 'quick', seq: intent.seq, subject: entry.subject })
  intent.done({}, { isPatient: true }).then(({ seq, hash }) => told({ what: 'audit', seq, hash }))
  fs.unlinkSync(join(place, 'effects', entry.subject))
}

async function audit() {
  const log = await openAuditLog({
    directory: join(place, 'audit'),
    keyDirectory: join(place, 'keys'),
    maxSegmentBytes: 60_000,
    headEvery: { records: 20, ms: 50 },
    lingerMs: 5,
  })
  const entry = (subject) => ({ actor: 'test', action: 'thing.made', subject })
  const tell = ({ seq, hash }) => told({ what: 'audit', seq, hash })
  await Promise.all(
    [0, 1, 2, 3, 4].map(async (lane) => {
      for (let count = 0; ; count++) {
        if (lane > 2) await actQuickly(log, entry(`${lane}-${count}`))
        else if (lane > 0) tell(await log.append(entry(`${lane}-${count}`)))
        else tell(await (await log.begin(entry(`${lane}-${count}`))).done())
        if (chance(3) === 0) await delay(chance(20))
      }
    }),
  )
}

await Promise.all([work('a'), work('b'), perform('c'), trickle(), audit()])

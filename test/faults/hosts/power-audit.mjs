// What must be true of a filesystem after a power cut, given what had been answered before it. Lines are read with
// JSON.parse and nothing of the writer; the two verifiers share no code with it either. Only opening, which repairs, is
// the writer's own: that is what the next command would do.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Synced each second. A busy machine may begin a little later, and the sync itself takes its time. */
const lazyMs = 1000 + 750
const crashed = new Set(['server_crash', 'log_torn'])

/** What is no JSON is no record; whether it may stand there, the verifiers tell. */
const linesIn = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })

export async function auditMounted({ dist, directory, answers, cutMs }) {
  const load = (name) => import(join(dist, `${name}.js`))
  const [{ openRun }, { verifyRun }, { openAuditLog }, { verifyAudit }] = await Promise.all(
    ['runs/open', 'runs/verify', 'audit/log', 'audit/verify'].map(load),
  )
  const faults = []
  const figures = { runs: 0, lostLazy: 0, flagged: 0, repaired: 0, unknownToUs: 0 }

  async function auditAuditLog(home, owed, endedRuns, told = []) {
    const place = { directory: join(directory, home, 'audit'), keyDirectory: join(directory, home, 'keys') }
    if (owed.length === 0 && !existsSync(place.directory)) return
    const before = verifyAudit(place.directory).verdict
    // One that nobody was answered from may not have had the time to be made.
    const allowed = ['ok', 'unsigned-tail', 'torn-tail', ...(owed.length === 0 ? ['bad-signature'] : [])]
    if (!allowed.includes(before)) faults.push(`the audit log is ${before}`)
    await attempt('opening the audit log', async () => (await openAuditLog(place)).close())
    const { verdict, openIntents } = verifyAudit(place.directory)
    if (verdict !== 'ok' || openIntents !== 0) faults.push(`the audit log is ${verdict}, with ${openIntents} open`)
    const records = readdirSync(place.directory)
      .filter((name) => name.startsWith('segment-') && name.endsWith('.jsonl'))
      .flatMap((name) => linesIn(join(place.directory, name)))
    const there = new Map(records.map(({ seq, hash }) => [seq, hash]))
    const ended = new Set(
      records.flatMap(({ action, outcome, subject }) => (action === 'run.end' && outcome === 'done' ? [subject] : [])),
    )
    for (const runId of endedRuns)
      if (!ended.has(runId)) faults.push(`the end of ${runId} was answered and not audited`)
    const intents = new Map(
      records.flatMap(({ seq, outcome, subject }) => (outcome === 'intent' ? [[seq, subject]] : [])),
    )
    for (const { seq, subject } of told)
      if (intents.get(seq) !== subject) faults.push(`the intent of ${subject} was answered and is gone`)
    for (const { seq, hash } of owed)
      if (there.get(seq) !== hash) faults.push(`audit record ${seq} was answered and is gone`)
  }

  async function auditRun(name, owed) {
    const place = join(directory, 'runs', name)
    if (!existsSync(place)) return void faults.push(`${name} was answered and is gone`)
    const { run, repairs } = await openRun(place)
    await run.close()
    figures.runs += 1
    figures.repaired += repairs.some((each) => each.includes('torn')) ? 1 : 0
    const isCrashed = crashed.has(run.record.failure_reason)
    const { findings } = await verifyRun(place)
    // Files of actions are class D2. What went with the last second is told by the verifier, and the run is not complete.
    const grave = findings.filter(({ kind }) => kind !== 'action' || !isCrashed)
    figures.flagged += findings.length - grave.length
    for (const { kind, subject, detail } of grave) faults.push(`${name}: ${kind} ${subject}: ${detail}`)
    const events = linesIn(join(place, 'events.jsonl'))
    if (events.some(({ seq }, index) => seq !== index + 1)) faults.push(`${name}: seq has a gap`)
    const ends = events.flatMap(({ type }, index) => (type === 'run_ended' ? [index] : []))
    if (ends.length !== 1 || ends[0] !== events.length - 1) faults.push(`${name}: it has ${ends.length} ends`)
    owedEvents(name, owed, events, isCrashed)
    owedActions(name, owed, findings)
    owedStates(name, owed, events)
  }

  function owedEvents(name, owed, events, isCrashed) {
    for (const { seq, hash, durability, ms } of owed.filter(({ what }) => what === 'event')) {
      if (events[seq - 1]?.hash === hash) continue
      const age = Math.round(cutMs - ms)
      if (durability === 'D1') faults.push(`${name}: event ${seq} was answered as durable and is gone`)
      else if (age > lazyMs) faults.push(`${name}: event ${seq} was ${age} ms old and is gone`)
      else if (!isCrashed) faults.push(`${name}: event ${seq} is gone, and the run does not say so`)
      else figures.lostLazy += 1
    }
  }

  function owedActions(name, owed, findings) {
    for (const { number, ms } of owed.filter(({ what }) => what === 'action')) {
      const place = `logs/actions/${String(number).padStart(6, '0')}`
      const isHurt = findings.some(({ subject }) => subject.startsWith(place))
      if (isHurt && cutMs - ms > lazyMs)
        faults.push(`${name}: ${place} was ${Math.round(cutMs - ms)} ms old and is hurt`)
    }
  }

  function owedStates(name, owed, events) {
    const answered = owed.filter(({ what }) => what === 'state').map(({ status }) => status)
    const reached = ['pending', ...events.flatMap(({ data }) => data.to ?? [])]
    if (answered.some((status, index) => reached[index] !== status))
      faults.push(`${name}: it was answered as ${answered.join(', ')} and went ${reached.join(', ')}`)
  }

  const attempt = async (what, work) => {
    try {
      await work()
    } catch (error) {
      faults.push(`${what}: ${error.code ?? ''} ${error.message} ${error.operatorDetail ?? ''}`)
    }
  }

  const audited = answers.filter(({ what }) => what === 'audit')
  const quick = answers.filter(({ what }) => what === 'quick')
  const endedRuns = answers.filter(({ what }) => what === 'ended').map(({ runId }) => runId)
  await attempt('the audit log', () => auditAuditLog('.', audited, [], quick))
  await attempt('the audit log of the runs', () => auditAuditLog('state', [], endedRuns))
  const removed = new Set(answers.filter(({ what }) => what === 'removed').map(({ run }) => run))
  const runs = byRun(answers)
  for (const [name, owed] of runs) if (!removed.has(name)) await attempt(name, () => auditRun(name, owed))
  // A run of which nobody was told need not be there; if it is, it is whole.
  const visible = existsSync(join(directory, 'runs')) ? readdirSync(join(directory, 'runs')) : []
  for (const name of visible.filter((each) => !each.startsWith('.') && !runs.has(each))) {
    figures.unknownToUs += 1
    await attempt(name, () => auditRun(name, []))
  }
  return { faults, ...figures }
}

function byRun(answers) {
  const runs = new Map()
  for (const answer of answers.filter(({ run }) => run !== undefined))
    runs.set(answer.run, [...(runs.get(answer.run) ?? []), answer])
  return runs
}

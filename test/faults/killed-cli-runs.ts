// `glovebox run`, killed with -9 at random moments. What its stream of events told is there afterwards, nothing of it
// lives a second later, and what the run says of its files stays true when the next start has swept up.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { failpointNames } from '../../src/runs/failpoints.ts'
import { verifyRun } from '../../src/runs/verify.ts'
import { verifyAudit } from '../../src/audit/verify.ts'
import { cleanRun, lookAround } from './aftermath.ts'
import { finished } from './finished.ts'
import { faultGround, type FaultGround, type Starter } from './ground.ts'
import { auditRun } from './killed-run.ts'
import { entriesBelow } from './traces.ts'

export interface KillCliOptions {
  readonly starter: Starter
  readonly count: number
  readonly seed: number
}

export interface KillCliReport {
  readonly runs: number
  readonly killed: number
  readonly ends: Readonly<Record<string, number>>
  readonly answeredEvents: number
  readonly faults: readonly string[]
}

const work = `i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo "line $i"; echo "$i" > /deliverables/f$i; sleep 0.01; done`
/** From the first instruction of node to some time after the end. */
const longestMs = 1100
/** On a busy machine the clock alone may meet none that has told anything. */
const mostEvents = 5
/** Who holds the audit log or waits for it. Whoever opens the log next removes those of the dead. */
const auditHolder = /audit\/lock\/./
/** Of the run as the command line drives it. */
const places = failpointNames.filter((name) => !name.startsWith('run.recover.'))

export async function killCliRuns({ starter, count, seed }: KillCliOptions): Promise<KillCliReport> {
  const ground = faultGround(starter)
  const report = { runs: count, killed: 0, ends: {} as Record<string, number>, answeredEvents: 0 }
  const faults: string[] = []
  const created: string[] = []
  try {
    // The first run makes the audit log and its key, which stay.
    await undisturbed(ground, 'first')
    const clean = await cleanRun(ground)
    const elsewhere = ground.makeDirectory('elsewhere')
    for (let number = 0; number < count; number += 1) {
      const moment = momentOf(number, seed)
      const place = ground.makeDirectory(`place-${number}`)
      const directory = join(place, 'run')
      const { stdout, signal, session } = await killedRun(ground, place, moment)
      const events = eventsIn(stdout)
      await recover(ground, place)
      const before = await auditRun(directory, answersOf(events)).catch((error: unknown) => ({
        status: undefined,
        faults: [String(error)],
      }))
      const { faults: left } = await lookAround({ ground, clean, workspace: elsewhere, session })
      const after = before.status === undefined ? [] : (await verifyRun(directory)).findings
      const told = [
        ...before.faults,
        ...left.filter((fault) => !auditHolder.test(fault)),
        ...after.map(({ kind, subject, detail }) => `after the next start: ${kind} ${subject}: ${detail}`),
      ]
      faults.push(...told.map((fault) => `run ${number}, ${JSON.stringify(moment)}: ${fault}`))
      report.ends[before.status ?? 'none'] = (report.ends[before.status ?? 'none'] ?? 0) + 1
      report.killed += signal === 'SIGKILL' ? 1 : 0
      report.answeredEvents += events.length
      const [first] = events
      if (first !== undefined) created.push(first.run_id)
    }
    await undisturbed(ground, 'last')
    faults.push(...auditFaults(ground, created))
    return { ...report, faults }
  } finally {
    ground.remove()
  }
}

interface Moment {
  readonly afterMs?: number
  /** As soon as it has told of so many. */
  readonly afterEvents?: number
  readonly failpoints?: string
}

function momentOf(number: number, seed: number): Moment {
  const own = (Math.imul(seed, 2_654_435_761) ^ Math.imul(number + 1, 40_503)) >>> 0
  const share = ((own ^ (own >>> 13)) >>> 0) % 1000
  if (number % 3 === 1) return { afterMs: Math.round((share / 1000) * longestMs) }
  if (number % 3 === 2) return { afterEvents: 1 + (share % mostEvents) }
  const name = places[Math.floor(number / 3) % places.length] ?? 'run.append.afterWrite'
  return { failpoints: `${name}=kill:${1 + (share % 3)}` }
}

async function killedRun(ground: FaultGround, cwd: string, { afterMs, afterEvents, failpoints }: Moment) {
  const argv = ['run', '--sandbox', 'run', '--prompt', 'Work.', '--json-events', '--', 'sh', '-c', work]
  const child = ground.startCli(argv, {
    cwd,
    ...(failpoints === undefined ? {} : { env: { GLOVEBOX_FAILPOINTS: failpoints } }),
  })
  const ending = finished(child)
  if (afterMs !== undefined) {
    await Promise.race([sleep(afterMs), ending])
    child.kill('SIGKILL')
  }
  if (afterEvents !== undefined) {
    let events = 0
    child.stdout?.on('data', (text: string) => {
      events += text.split('\n').length - 1
      if (events >= afterEvents) child.kill('SIGKILL')
    })
  }
  return { ...(await ending), session: child.pid }
}

/** As a person does after a crash. */
async function recover(ground: FaultGround, cwd: string): Promise<void> {
  const { code, stderr } = await finished(ground.startCli(['runs', 'recover', '--root', '.'], { cwd }))
  if (code !== 0) throw new Error(`runs recover ended with ${code}: ${stderr}`)
}

async function undisturbed(ground: FaultGround, name: string): Promise<void> {
  const child = ground.startCli(['run', '--prompt', 'Begin.', '--', 'true'], { cwd: ground.makeDirectory(name) })
  const { code, stderr } = await finished(child)
  if (code !== 0) throw new Error(`an undisturbed run ended with ${code}: ${stderr}`)
}

interface Told {
  readonly run_id: string
  readonly seq: number
  readonly hash: string
  readonly data: { readonly to?: string }
}

/** Behind the last line break may stand half a line. */
const eventsIn = (stdout: string): readonly Told[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Told)

const answersOf = (events: readonly Told[]) => ({
  events: events.map(({ seq, hash }) => `${seq} ${hash}`),
  states: events.length === 0 ? [] : ['pending', ...events.flatMap(({ data }) => data.to ?? [])],
})

/** Every run that was told of stands in the audit log, and what was begun has an end by now. */
function auditFaults(ground: FaultGround, created: readonly string[]): readonly string[] {
  const directory = join(ground.stateDir, 'audit')
  const { verdict, openIntents } = verifyAudit(directory)
  const audited = new Set(auditedRuns(directory))
  const missing = created.filter((runId) => !audited.has(runId))
  const held = entriesBelow(ground.stateDir).filter((name) => auditHolder.test(name))
  return [
    ...(verdict === 'ok' ? [] : [`the audit log is ${verdict}`]),
    ...(openIntents === 0 ? [] : [`${openIntents} intents have no end`]),
    ...(missing.length === 0 ? [] : [`${missing.length} runs are not in the audit log`]),
    ...held.map((name) => `left in the state directory: ${name}`),
  ]
}

const auditedRuns = (directory: string): readonly string[] =>
  readdirSync(directory)
    .filter((name) => name.startsWith('segment-'))
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as { readonly action: string; readonly subject: string })
    .filter(({ action }) => action === 'run.create')
    .map(({ subject }) => subject)

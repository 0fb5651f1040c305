// Many runs, each killed once: at a random moment, or at a named place the n-th time that the writer comes by.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failpointNames } from '../../src/runs/failpoints.ts'
import { attempt, auditRun, auditTheLog, type Attempt } from './killed-run.ts'

export interface KillRunsOptions {
  readonly count: number
  readonly seed: number
  /** Writers at one time. They share one audit log. */
  readonly atOnce?: number
}

export interface KillRunsReport {
  readonly runs: number
  /** Writers that were met alive. The others had ended before. */
  readonly killed: number
  /** By how they ended; `none` where nothing was there yet. */
  readonly ends: Readonly<Record<string, number>>
  readonly answeredEvents: number
  readonly answeredAudits: number
  readonly faults: readonly string[]
}

/** Those of a writer; the rest belong to recovery. */
const places = failpointNames.filter((name) => !name.startsWith('run.recover.'))
/** More than most writers say. Not the clock but what was said tells how far one has come, on a slow disk as on a quick one. */
const mostLines = 250
/** Between two lines lies something too. */
const longestMs = 12

export async function killRuns({ count, seed, atOnce = 2 }: KillRunsOptions): Promise<KillRunsReport> {
  const place = mkdtempSync(join(tmpdir(), 'glovebox-killed-'))
  const ends: Record<string, number> = {}
  const faults: string[] = []
  const audited: number[] = []
  let [started, killed, answeredEvents] = [0, 0, 0]
  const lane = async (): Promise<void> => {
    for (let number = started++; number < count; number = started++) {
      const directory = join(place, `run-${number}`)
      const answers = await attempt({ directory, audit: place, verb: 'write', ...momentOf(number, seed) })
      const { status, faults: found } = await auditRun(directory, answers).catch((error: unknown) => ({
        status: undefined,
        faults: [String(error)],
      }))
      const told = answers.stderr === '' ? found : [...found, answers.stderr]
      faults.push(...told.map((fault) => `run ${number}, ${JSON.stringify(momentOf(number, seed))}: ${fault}`))
      ends[status ?? 'none'] = (ends[status ?? 'none'] ?? 0) + 1
      killed += answers.signal === 'SIGKILL' ? 1 : 0
      answeredEvents += answers.events.length
      audited.push(...answers.audited)
      if (told.length === 0) rmSync(directory, { recursive: true, force: true })
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, lane))
    faults.push(...(await auditTheLog(place, audited)))
    return { runs: count, killed, ends, answeredEvents, answeredAudits: audited.length, faults }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** The same for the same number and seed, so that a fault can be looked at again. */
function momentOf(number: number, seed: number): Pick<Attempt, 'seed' | 'failpoints' | 'killAfter'> {
  const own = (Math.imul(seed, 2_654_435_761) ^ Math.imul(number + 1, 40_503)) >>> 0
  const share = ((own ^ (own >>> 13)) >>> 0) % 1000
  const killAfter = { lines: 1 + Math.floor((share / 1000) * mostLines), ms: own % longestMs }
  if (number % 2 === 0) return { seed: own, killAfter }
  const name = places[(number >> 1) % places.length] ?? 'run.append.afterWrite'
  const most = name.startsWith('run.create.') || name.startsWith('run.end.') ? 1 : 20
  return { seed: own, failpoints: `${name}=kill:${1 + (share % most)}` }
}

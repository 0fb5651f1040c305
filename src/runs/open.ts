// Takes hold of an existing run. What a crash left is put right as far as it can be known: a torn tail is cut off, a
// run.json that lags is folded anew, and a run whose process died is ended, as failed if nothing had started and as lost
// if nobody can know. What no crash explains is damage: the run stays exactly as it is, and only reading is left.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse } from 'yaml'
import type { ArtifactLimits } from '../contract/artifact.ts'
import type { RunEvent } from '../contract/event.ts'
import { isTerminal, needsOwner, taskRecordSchema, type Deliverable, type RunRecord } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { isPrepared } from './fork/prepared.ts'
import { noFailpoint, type Failpoint } from './failpoints.ts'
import { placeIn } from './layout.ts'
import { LiveRun, runJsonText } from './live-run.ts'
import { createdDataSchema } from './machine.ts'
import { holdRun, type Ownership } from './ownership.ts'
import { damageOf, findRunJson, refuseOther, scanRun } from './reader.ts'
import { openRecorder } from './recorder.ts'
import { repairTail, type Repair } from './recover.ts'
import { replaceFile, sweepTemporaries } from './replace-file.ts'
import { releaseReserve } from './reserve.ts'
import type { Run } from './run.ts'
import type { Scan } from './scan.ts'
import { asStorageError } from './storage-error.ts'

export interface OpenRunOptions {
  readonly artifactLimits?: ArtifactLimits
  readonly failpoint?: Failpoint
  readonly now?: () => number
}

export interface OpenedRun {
  readonly run: Run
  /** What was put right. Empty for a run that was closed in good order. */
  readonly repairs: readonly string[]
}

/** BUSY while its process lives; RECORD_DAMAGED, and nothing is touched, when the log was changed. */
export async function openRun(sandboxPath: string, options: OpenRunOptions = {}): Promise<OpenedRun> {
  const directory = resolve(sandboxPath)
  // Before the lock: a directory that is no run must not get one.
  refuseOther(directory)
  const ownership = hold(directory)
  try {
    return await new Opening(directory, options, ownership).open()
  } catch (error) {
    ownership.release()
    throw asStorageError(error, 'open the run')
  }
}

function hold(directory: string): Ownership {
  try {
    return holdRun(directory)
  } catch (error) {
    throw asStorageError(error, 'take hold of the run')
  }
}

class Opening {
  readonly #directory: string
  readonly #options: OpenRunOptions
  readonly #ownership: Ownership
  readonly #failpoint: Failpoint
  readonly #mentioned = new Set<string>()
  readonly #repairs: string[] = []
  #files: Readonly<Record<string, string>> = {}

  constructor(directory: string, options: OpenRunOptions, ownership: Ownership) {
    this.#directory = directory
    this.#options = options
    this.#ownership = ownership
    this.#failpoint = options.failpoint ?? noFailpoint
  }

  async open(): Promise<OpenedRun> {
    const scan = await scanRun(this.#directory, (event) => this.#learn(event))
    const runJson = findRunJson(this.#directory)
    const damage = damageOf(scan, runJson)
    if (damage !== undefined || scan.record === undefined) throw damaged(damage ?? 'the log is empty')
    const deliverables = this.#deliverables()
    const swept = sweepTemporaries(this.#directory)
    if (swept.length > 0) this.#repairs.push(`${swept.length} temporary files were removed`)
    const repair = await this.#repair(scan)
    const run = this.#live(scan, scan.record, deliverables)
    await this.#finish(run, repair, runJson)
    return { run, repairs: this.#repairs }
  }

  #learn(event: RunEvent): void {
    if (event.type === 'run_created') this.#files = createdDataSchema.parse(event.data).files
    const kept = event.type === 'log_repaired' ? event.data['kept_as'] : undefined
    if (Array.isArray(kept)) for (const name of kept) if (typeof name === 'string') this.#mentioned.add(name)
  }

  /** What the run owes stands in a snapshot; one that was changed would let it off. */
  #deliverables(): readonly Deliverable[] {
    const text = readFileSync(placeIn(this.#directory, 'task.yaml'))
    const hash = createHash('sha256').update(text).digest('hex')
    if (hash !== this.#files['task.yaml']) throw damaged('task.yaml is not what it was when the run began')
    return taskRecordSchema.parse(parse(text.toString('utf8'))).deliverables
  }

  #repair(scan: Scan): Promise<Repair | undefined> {
    return repairTail({
      directory: this.#directory,
      scan,
      mentioned: this.#mentioned,
      failpoint: this.#failpoint,
      now: this.#options.now ?? Date.now,
    })
  }

  #live(scan: Scan, record: RunRecord, deliverables: readonly Deliverable[]): LiveRun {
    const { now, artifactLimits } = this.#options
    const recorder = openRecorder({
      path: placeIn(this.#directory, 'events.jsonl'),
      ids: record,
      head: scan.head,
      failpoint: this.#failpoint,
      now,
    })
    return new LiveRun({
      directory: this.#directory,
      record,
      recorder,
      deliverables,
      now,
      ownership: this.#ownership,
      limits: artifactLimits,
      failpoint: this.#failpoint,
    })
  }

  async #finish(run: LiveRun, repair: Repair | undefined, runJson: RunRecord | undefined): Promise<void> {
    try {
      if (repair !== undefined) await this.#tell(run, repair)
      await this.#refold(run, runJson)
      await this.#endCrashed(run, { isTorn: runJson !== undefined && runJson.state_seq > run.record.state_seq })
      if (isTerminal(run.record.status)) releaseReserve(placeIn(this.#directory, 'logs'))
    } catch (error) {
      await run.close()
      throw error
    }
  }

  /** Behind the last event nothing may stand, so a tail behind an end is kept aside without a word in the log. */
  async #tell(run: LiveRun, { offset, bytes, keptAs }: Repair): Promise<void> {
    if (bytes > 0) this.#repairs.push(`${bytes} bytes of a torn tail were kept aside`)
    if (isTerminal(run.record.status)) return
    await run.note(
      {
        type: 'log_repaired',
        severity: 'warning',
        summary: 'The end of the log was torn. What could not be read was kept aside.',
        data: { offset, bytes, kept_as: [...keptAs] },
      },
      'D1',
    )
  }

  async #refold(run: LiveRun, runJson: RunRecord | undefined): Promise<void> {
    const path = placeIn(this.#directory, 'run.json')
    const text = runJsonText(run.record)
    if (runJson !== undefined && readFileSync(path, 'utf8') === text) return
    await replaceFile(path, text, { failpoint: this.#failpoint })
    this.#repairs.push('run.json was written anew from the events')
  }

  async #endCrashed(run: LiveRun, { isTorn }: { readonly isTorn: boolean }): Promise<void> {
    const { status } = run.record
    if (!needsOwner(status) || isPrepared(run.record)) return
    const to = status === 'pending' ? 'failed' : 'lost'
    const reason = isTorn ? 'log_torn' : 'server_crash'
    const summary = `The process that ran it ended without a word while the run was ${status}.`
    const ended = await run.transition(to, { reason, summary })
    this.#repairs.push(`the run was ended as ${ended.status} (${reason})`)
  }
}

const damaged = (cause: string): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', `Cannot open the run: ${cause}`, {
    hint: 'It can still be read as far as the log is whole. `glovebox runs verify` tells more.',
  })

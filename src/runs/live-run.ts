// A run that this process owns. State changes happen one after another; appends may come from everywhere at any time.
// The log is written first and run.json after it, always: run.json may lag behind a crash, and never runs ahead.
import { createHash } from 'node:crypto'
import { readFileSync, writeSync } from 'node:fs'
import type { ArtifactLimits, ArtifactManifest, SandboxManifest } from '../contract/artifact.ts'
import { sandboxManifestSchema } from '../contract/artifact.ts'
import { ownEventTypes, type Durability, type EventData, type EventInput, type RunEvent } from '../contract/event.ts'
import { isTerminal, reasonSchema, type Deliverable, type RunRecord, type RunStatus } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { syncFile } from '../paths/content.ts'
import { artifactManifest } from './artifacts.ts'
import { settle, type Outcome } from './ending.ts'
import { layersOrGone } from './fork/record.ts'
import type { Failpoint } from './failpoints.ts'
import { openForAppend, placeIn, type RunFile } from './layout.ts'
import { apply, checkTransition, ended } from './machine.ts'
import type { Ownership } from './ownership.ts'
import type { Redaction } from '../contract/redaction.ts'
import { readEvents, type EventsOptions } from './reader.ts'
import type { Recorder } from './recorder.ts'
import { replaceFile } from './replace-file.ts'
import { releaseReserve } from './reserve.ts'
import type { Run, TransitionOptions } from './run.ts'
import { asStorageError, isNoSpace } from './storage-error.ts'

export interface LiveRunOptions {
  readonly directory: string
  readonly record: RunRecord
  readonly recorder: Recorder
  readonly ownership: Ownership
  readonly deliverables: readonly Deliverable[]
  readonly limits: ArtifactLimits | undefined
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  readonly failpoint: Failpoint
  readonly now: (() => number) | undefined
}

export const runJsonText = (record: RunRecord): string => `${JSON.stringify(record, null, 2)}\n`

export class LiveRun implements Run {
  readonly directory: string
  readonly #options: LiveRunOptions
  readonly #recorder: Recorder
  #record: RunRecord
  #turn: Promise<unknown> = Promise.resolve()
  #transcript: { readonly fd: number; close(): void } | undefined
  #isClosed = false
  #redaction: Redaction | undefined

  constructor(options: LiveRunOptions) {
    this.#options = options
    this.directory = options.directory
    this.#recorder = options.recorder
    this.#record = options.record
  }

  conceal(redaction: Redaction): void {
    this.#redaction = redaction
  }

  #concealed<Value>(value: Value): Value {
    return this.#redaction?.json(value) ?? value
  }

  get record(): RunRecord {
    return this.#record
  }

  async append(input: EventInput, options: { readonly durability?: Durability } = {}): Promise<RunEvent> {
    if ((ownEventTypes as readonly string[]).includes(input.type)) throw ownType(input.type)
    return this.note(input, options.durability ?? 'D1')
  }

  /** Also for the types that callers may not use. */
  async note(input: EventInput, durability: Durability): Promise<RunEvent> {
    const event = this.#write(input)
    if (durability === 'D1') await this.#recorder.commit()
    return event
  }

  /** Checked, written and folded without a pause in between: two ends cannot both get in. */
  #write(input: EventInput): RunEvent {
    const encoded = this.#recorder.prepare(this.#concealed(input))
    const next = apply(this.#record, encoded.event)
    const isEnd = input.type === 'run_ended'
    try {
      this.#recorder.write(encoded, { isTerminal: isEnd })
    } catch (error) {
      if (!isEnd || !isNoSpace(error)) throw error
      releaseReserve(this.#logs)
      this.#recorder.write(encoded, { isTerminal: true })
    }
    this.#record = next
    this.#options.onEvent?.(encoded.event)
    return encoded.event
  }

  transition(to: RunStatus, options: TransitionOptions = {}): Promise<RunRecord> {
    return this.#inTurn(async () => {
      checkTransition(this.#record.status, to)
      checkReason(to, options.reason)
      const asked: Outcome = {
        to,
        reason: options.reason ?? null,
        summary: options.summary ?? `The run is ${to}.`,
        data: options.data ?? {},
      }
      const outcome = isTerminal(to) || to === 'review_required' ? await this.#settled(asked) : asked
      return this.#change(outcome, options.actor)
    })
  }

  async #settled(asked: Outcome): Promise<Outcome> {
    const { failpoint, now } = this.#options
    failpoint('run.end.beforeManifest')
    if (this.#transcript !== undefined) await syncFile(this.#transcript.fd)
    const outcome = await settle(asked, {
      directory: this.directory,
      deliverables: this.#options.deliverables,
      failpoint,
      now: now ?? Date.now,
      survey: async () => this.#concealed(await this.#survey({ sync: true })),
      release: () => releaseReserve(this.#logs),
      runId: this.#record.run_id,
    })
    failpoint('run.end.beforeEvent')
    return outcome
  }

  async #change({ to, reason, summary, data }: Outcome, actor: RunEvent['actor'] | undefined): Promise<RunRecord> {
    const isEnd = isTerminal(to)
    const changed: EventData = { ...data, from: this.#record.status, to, reason }
    const severity = to === 'failed' || to === 'lost' ? 'error' : 'info'
    const type = isEnd ? 'run_ended' : 'state_changed'
    this.#write({ type, summary, severity, data: changed, ...(actor === undefined ? {} : { actor }) })
    await this.#recorder.commit()
    if (isEnd) this.#options.failpoint('run.end.afterEvent')
    await this.#writeRunJson({ isEnd })
    return this.#record
  }

  async #writeRunJson({ isEnd }: { readonly isEnd: boolean }): Promise<void> {
    try {
      await this.#replace('run.json', runJsonText(this.#record))
    } catch (error) {
      if (!isEnd || !isNoSpace(error)) throw error
      releaseReserve(this.#logs)
      await this.#replace('run.json', runJsonText(this.#record))
    }
  }

  recordSandbox(manifest: Omit<SandboxManifest, 'run_id' | 'recorded_at'>): Promise<void> {
    const recorded_at = new Date(this.#options.now?.() ?? Date.now()).toISOString()
    const whole = sandboxManifestSchema.safeParse({ run_id: this.#record.run_id, recorded_at, ...manifest })
    if (!whole.success) return Promise.reject(misshapen(whole.error.issues[0]?.path.join('.') ?? ''))
    return this.#recordFile('sandbox-manifest.json', `${JSON.stringify(whole.data, null, 2)}\n`)
  }

  recordSystemPrompt(text: string): Promise<void> {
    return this.#recordFile('effective-system-prompt.md', text)
  }

  #recordFile(name: RunFile, text: string): Promise<void> {
    return this.#inTurn(async () => {
      if (isTerminal(this.#record.status)) throw ended(this.#record.status)
      await this.#replace(name, text)
      const sha256 = createHash('sha256')
        .update(readFileSync(placeIn(this.directory, name)))
        .digest('hex')
      await this.note(
        { type: 'file_recorded', summary: `${name} was written.`, data: { files: { [name]: sha256 } } },
        'D1',
      )
    })
  }

  say(given: string): void {
    const text = this.#concealed(given)
    if (isTerminal(this.#record.status)) throw ended(this.#record.status)
    try {
      this.#transcript ??= openForAppend(this.directory, 'transcript.md')
      const bytes = Buffer.from(text)
      for (let done = 0; done < bytes.length;) done += writeSync(this.#transcript.fd, bytes, done)
    } catch (error) {
      throw asStorageError(error, 'write the transcript')
    }
  }

  events(options?: EventsOptions): AsyncIterable<RunEvent> {
    return readEvents(this.directory, options)
  }

  artifacts(options: { readonly signal?: AbortSignal } = {}): Promise<ArtifactManifest> {
    return this.#survey(options)
  }

  #survey(options: { readonly signal?: AbortSignal; readonly sync?: boolean }): Promise<ArtifactManifest> {
    return artifactManifest({
      ...options,
      workspace: placeIn(this.directory, 'workspace'),
      deliverables: placeIn(this.directory, 'deliverables'),
      under: layersOrGone(this.directory),
      runId: this.#record.run_id,
      limits: this.#options.limits,
      now: this.#options.now,
    })
  }

  sync(): Promise<void> {
    return this.#recorder.commit()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#turn
    try {
      await this.#recorder.close()
    } finally {
      this.#transcript?.close()
      if (isTerminal(this.#record.status)) releaseReserve(this.#logs)
      this.#options.ownership.release()
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #logs(): string {
    return placeIn(this.directory, 'logs')
  }

  async #replace(name: RunFile, text: string): Promise<void> {
    try {
      await replaceFile(placeIn(this.directory, name), text, { failpoint: this.#options.failpoint })
    } catch (error) {
      throw asStorageError(error, `write ${name}`)
    }
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#isClosed)
      return Promise.reject(new GloveboxError('RUN_ENDED', 'Cannot change the run: it has been closed'))
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => {})
    return mine
  }
}

function checkReason(to: RunStatus, reason: string | undefined): void {
  const isNeeded = to === 'failed' || to === 'lost'
  if (reason === undefined ? !isNeeded : reasonSchema.safeParse(reason).success) return
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot end the run as ${to}: its reason must be one word like "exit_nonzero"`,
  )
}

const ownType = (type: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot record an event of type ${type}: only the run itself writes those`)

const misshapen = (field: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot write the sandbox manifest: ${field} does not fit its schema`)

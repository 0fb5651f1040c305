// The one writer of events.jsonl. Every append is one write; what was answered as D1 has been synced before the answer,
// and all who wait at the same time share one sync; D2 is synced within a second and at the end. A write that fails is
// taken back, so that the log stays whole. After a sync that failed nothing more is accepted: the kernel may have
// dropped the pages and would call the next sync a success. It knows lines and seq, and nothing of states.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import type { EventInput } from '../contract/event.ts'
import { GloveboxError } from '../errors/error.ts'
import { syncData } from '../paths/content.ts'
import { encodeEvent, type EncodedEvent, type Head, type RunIds } from './chain.ts'
import { noFailpoint, type Failpoint } from './failpoints.ts'
import { asStorageError, isNoSpace } from './storage-error.ts'

const lazySyncMs = 1000

export interface RecorderOptions {
  readonly path: string
  readonly ids: RunIds
  /** Where the log ends. */
  readonly head: Head
  readonly failpoint?: Failpoint | undefined
  /** Default: the wall clock, in milliseconds. */
  readonly now?: (() => number) | undefined
  /** For tests that count; default: fdatasync. */
  readonly sync?: ((fd: number) => Promise<void>) | undefined
}

export interface Recorder {
  readonly head: Head
  readonly offset: number
  /** Pure: the event as it would be written next. It must be written before another is prepared. */
  prepare(input: EventInput): EncodedEvent
  /** Reaches the kernel before it returns, and so outlives this process. */
  write(encoded: EncodedEvent, options?: { readonly isTerminal?: boolean }): void
  /** Settles when everything written so far outlives a power cut. */
  commit(): Promise<void>
  /** Commits, and gives the descriptor back. */
  close(): Promise<void>
}

export const openRecorder = (options: RecorderOptions): Recorder => new LogRecorder(options)

class LogRecorder implements Recorder {
  readonly #options: RecorderOptions
  readonly #failpoint: Failpoint
  readonly #fd: number
  #head: Head
  #offset: number
  #synced: number
  /** Set once the log can no longer be trusted to take a line. */
  #broken: GloveboxError | undefined
  #full: GloveboxError | undefined
  #closed = false
  /** A sync that has not begun: whoever comes now shares it. */
  #waiting: Promise<void> | undefined
  #running: { readonly upTo: number; readonly done: Promise<void> } = { upTo: 0, done: Promise.resolve() }
  #lazy: NodeJS.Timeout | undefined

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#failpoint = options.failpoint ?? noFailpoint
    this.#head = options.head
    const { O_APPEND, O_NOFOLLOW, O_WRONLY } = constants
    this.#fd = openSync(options.path, O_WRONLY | O_APPEND | O_NOFOLLOW)
    this.#offset = fstatSync(this.#fd).size
    this.#synced = this.#offset
  }

  get head(): Head {
    return this.#head
  }

  get offset(): number {
    return this.#offset
  }

  prepare(input: EventInput): EncodedEvent {
    const timestamp = new Date(this.#options.now?.() ?? Date.now()).toISOString()
    return encodeEvent(input, this.#head, this.#options.ids, timestamp)
  }

  write({ event, line }: EncodedEvent, { isTerminal = false } = {}): void {
    const refused = this.#broken ?? (isTerminal ? undefined : this.#full)
    if (refused !== undefined) throw refused
    if (this.#closed) throw new GloveboxError('RUN_ENDED', 'Cannot record an event: the log has been closed')
    if (event.prev_hash !== this.#head.hash) throw new GloveboxError('INTERNAL', 'Cannot record an event out of order')
    try {
      this.#failpoint('run.append.beforeWrite')
      writeWhole(this.#fd, line)
    } catch (error) {
      throw this.#takeBack(error)
    }
    this.#offset += line.length
    this.#head = { seq: event.seq, hash: event.hash }
    this.#syncLater()
    this.#passAfterWrite()
  }

  /** The line stands, so an error here is no refusal: nobody could tell what has been recorded. */
  #passAfterWrite(): void {
    try {
      this.#failpoint('run.append.afterWrite')
    } catch (error) {
      this.#broken = damaged('the writer was disturbed behind a write')
      throw asStorageError(error, 'record an event')
    }
  }

  #takeBack(error: unknown): unknown {
    const told = asStorageError(error, 'record an event')
    try {
      ftruncateSync(this.#fd, this.#offset)
    } catch {
      // Half a line may stand at the end. Recovery knows what to do with it; this writer must not go on behind it.
      this.#broken = damaged('a write failed and could not be taken back')
    }
    // Less may fit a moment later, but a log with holes in it would look like one without.
    if (isNoSpace(error) && told instanceof GloveboxError) this.#full = told
    return told
  }

  commit(): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    if (this.#synced === this.#offset) return Promise.resolve()
    if (this.#running.upTo === this.#offset) return this.#running.done
    this.#waiting ??= this.#running.done
      .catch(() => {})
      .then(() => {
        this.#waiting = undefined
        this.#running = { upTo: this.#offset, done: this.#syncNow(this.#offset) }
        return this.#running.done
      })
    return this.#waiting
  }

  async #syncNow(upTo: number): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken
    clearTimeout(this.#lazy)
    this.#lazy = undefined
    try {
      await (this.#options.sync ?? syncData)(this.#fd)
    } catch (error) {
      this.#broken = damaged('the disk did not take what was written')
      throw asStorageError(error, 'make the record durable')
    }
    this.#synced = upTo
    this.#failpoint('run.append.afterSync')
  }

  #syncLater(): void {
    this.#lazy ??= setTimeout(() => {
      this.#lazy = undefined
      // Whoever appends next is told: the failure is kept in #broken.
      this.commit().catch(() => {})
    }, lazySyncMs).unref()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#lazy)
    try {
      if (this.#broken === undefined) await this.commit()
    } finally {
      await this.#running.done.catch(() => {})
      closeSync(this.#fd)
    }
  }
}

/** A disk that fills up takes a part of a line and says so only at the next write. */
function writeWhole(fd: number, line: Buffer): void {
  let done = 0
  while (done < line.length) {
    const count = writeSync(fd, line, done)
    if (count === 0) throw Object.assign(new Error('ENOSPC: nothing was written'), { code: 'ENOSPC', syscall: 'write' })
    done += count
  }
}

const damaged = (cause: string): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', `Cannot record an event: ${cause}`, {
    hint: 'Open the run again: what was answered is still there.',
  })

// Commands of a hosted sandbox, and those that outlive the request that began them. What they say is kept, up to the limits of policy,
// so that any number of readers can follow at their own pace, leave, and come back behind the last byte that they saw. While they run
// it takes up the share of whoever began them, and is cut where that is used up.
import type { ExecResult, RunOptions } from '../../contract/exec.ts'
import { newExecId, type ExecId } from '../../contract/ids.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { type Journal, type JournalPart, type JournalPosition, type Limits, openJournal } from './journal.ts'
import type { OutputRoom, OutputShare } from './output-room.ts'
import type { Shelf } from './shelf.ts'

/** Ended ones are kept for readers that come back; the oldest of a sandbox make room. */
const maxEnded = 32
const maxRunning = 64
/** What it says is in the journal; beside that only as much as refusals are looked for in. */
const keptBesideBytes = 64 * 1024

export type Command = string | readonly [string, ...string[]]

export type CommandEvent =
  | { readonly kind: 'output'; readonly part: JournalPart }
  | { readonly kind: 'ended'; readonly at: JournalPosition; readonly result: ExecResult }

export interface HostedCommand {
  readonly execId: ExecId
  readonly startedAt: string
  /** Undefined while it runs. */
  readonly result: ExecResult | undefined
  readonly keptBytes: number
  readonly isOver: boolean
  /** Why it could not be run at all. */
  readonly failure: Error | undefined
  readonly settled: Promise<ExecResult>
  /** From the position on to the end. Ends early, and quietly, with the signal. */
  follow(after: JournalPosition, signal: AbortSignal): AsyncGenerator<CommandEvent>
  cancel(): void
}

export interface HostedCommands {
  /** To its end, for a caller that waits. */
  run(tokenId: string, command: Command, options: WaitedOptions): Promise<ExecResult>
  /** What it says counts for the token. Refused, before anything is begun, where that has used up its share. */
  start(tokenId: string, command: Command, options: StartOptions): HostedCommand
  find(execId: string): HostedCommand | undefined
  list(): readonly HostedCommand[]
  readonly running: number
  /** Cancels all that run, and settles when they have ended. */
  stop(): Promise<void>
  /** Nobody can ask for them any more: what they said is let go of, that of those which still run when they end. */
  forget(): void
}

/** Whatever runs commands under a policy. */
export type Runner = Pick<Sandbox, 'describe' | 'commands'>

export interface CommandStores {
  readonly shelf: Shelf
  readonly room: OutputRoom
}

export function openCommands(sandbox: Runner, { shelf, room }: CommandStores): HostedCommands {
  const known = new Map<string, HostedCommand>()
  const takeOff = new Map<string, () => void>()
  let isForgotten = false
  const running = new Map<AbortController, Promise<ExecResult>>()

  const counted = async (work: Promise<ExecResult>, stopping: AbortController): Promise<ExecResult> => {
    running.set(stopping, work)
    try {
      return await work
    } finally {
      running.delete(stopping)
    }
  }
  const begin = (tokenId: string, asked: Pick<Starting, 'command' | 'options' | 'limits'>): StartedCommand =>
    startCommand(sandbox, { ...asked, share: room.enter(tokenId), counted })
  /** For whoever waits for it: ends with the caller, or with all the others. */
  const runToEnd: HostedCommands['run'] = async (tokenId, command, { signal, taken, ...options }) => {
    // Asked for when it says something: one that rests is opened by the command, and cannot tell before.
    const started = begin(tokenId, { command, options, limits: () => limitsOf(sandbox) })
    started.countUntil(taken)
    const stop = (): void => started.cancel()
    if (signal?.aborted === true) stop()
    signal?.addEventListener('abort', stop, { once: true })
    try {
      return await started.settled
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }
  const drop = (execId: string): void => {
    known.delete(execId)
    takeOff.get(execId)?.()
    takeOff.delete(execId)
  }
  const keep = ({ execId, keptBytes }: HostedCommand): void => {
    if (isForgotten) return drop(execId)
    const remover = shelf.put(keptBytes, () => drop(execId))
    // What is more than the whole shelf holds is gone already.
    if (known.has(execId)) takeOff.set(execId, remover)
    const ended = [...known.values()].filter(({ isOver }) => isOver)
    for (const oldest of ended.slice(0, Math.max(0, ended.length - maxEnded))) drop(oldest.execId)
  }

  return {
    run: runToEnd,
    start(tokenId, command, options) {
      if (running.size >= maxRunning) throw tooMany()
      const limits = limitsOf(sandbox)
      const started = begin(tokenId, { command, options, limits: () => limits })
      known.set(started.execId, started)
      const ended = (): void => keep(started)
      started.settled.then(ended, ended)
      return started
    },
    find: (execId) => known.get(execId),
    list: () => [...known.values()],
    get running() {
      return running.size
    },
    async stop() {
      const ending = [...running]
      for (const [stopping] of ending) stopping.abort()
      await Promise.allSettled(ending.map(([, work]) => work))
    },
    forget() {
      isForgotten = true
      for (const { execId, isOver } of known.values()) if (isOver) drop(execId)
    },
  }
}

type StartOptions = Omit<RunOptions, 'signal' | 'onStdout' | 'onStderr'>

export interface WaitedOptions extends StartOptions {
  readonly signal?: AbortSignal
  /** The answer lies in memory until somebody has taken it. */
  readonly taken: Promise<unknown>
}

interface Starting {
  readonly command: Command
  readonly options: StartOptions
  readonly limits: () => Limits
  readonly share: OutputShare
  readonly counted: (work: Promise<ExecResult>, stopping: AbortController) => Promise<ExecResult>
}

function startCommand(sandbox: Runner, { command, options, limits, share, counted }: Starting): StartedCommand {
  const stopping = new AbortController()
  const journal = openJournal(limits, withBeside(share))
  // A shell has the listeners of its last commands for as long as it is open, and must not have the journal by them.
  let listening: Journal | undefined = journal
  const stopListening = (): void => {
    listening = undefined
  }
  const work = sandbox.commands.run(command, {
    ...options,
    signal: stopping.signal,
    keepBytes: keptBesideBytes,
    lentChunks: true,
    onStdout: (chunk) => listening?.add('stdout', chunk),
    onStderr: (chunk) => listening?.add('stderr', chunk),
  })
  work.then(stopListening, stopListening)
  return new StartedCommand({ work: counted(work, stopping), journal, stopping })
}

/** Counts what is kept beside the journal as well: the head of each output, once more. */
function withBeside(share: OutputShare): OutputShare {
  let left = 2 * keptBesideBytes
  return {
    ...share,
    take(bytes) {
      const granted = share.take(bytes)
      const beside = Math.min(left, granted)
      left -= beside
      share.hold(beside)
      return granted
    },
  }
}

interface Started {
  readonly work: Promise<ExecResult>
  readonly journal: Journal
  readonly stopping: AbortController
}

/** A class, and not an object that is written down with getters: V8 makes a hidden class for each of those, and keeps it long. */
class StartedCommand implements HostedCommand {
  readonly execId = newExecId()
  readonly startedAt = new Date().toISOString()
  readonly settled: Promise<ExecResult>
  readonly #started: Started
  #ending: ExecResult | undefined
  #failure: Error | undefined

  constructor(started: Started) {
    this.#started = started
    this.settled = started.work.then(
      (result) => this.#ended(result),
      (error: unknown) => this.#failed(error),
    )
    this.settled.catch(() => {})
  }

  get result(): ExecResult | undefined {
    return this.#ending === undefined ? undefined : this.#toldBy(this.#ending)
  }

  get keptBytes(): number {
    return this.#started.journal.keptBytes()
  }

  get isOver(): boolean {
    return this.#ending !== undefined || this.#failure !== undefined
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  async *follow(after: JournalPosition, signal: AbortSignal): AsyncGenerator<CommandEvent> {
    let at = after
    for await (const part of this.#started.journal.read(after, signal)) {
      at = part.next
      yield { kind: 'output', part }
    }
    if (!signal.aborted) yield { kind: 'ended', at, result: await this.settled }
  }

  countUntil(over: Promise<unknown>): void {
    this.#started.journal.countUntil(over)
  }

  cancel(): void {
    this.#started.stopping.abort()
  }

  #ended(done: ExecResult): ExecResult {
    const { journal } = this.#started
    this.#ending = {
      ...done,
      execId: this.execId,
      stdoutBytes: nothing,
      stderrBytes: nothing,
      stdoutTruncated: done.stdoutTotalBytes > journal.limit('stdout'),
      stderrTruncated: done.stderrTotalBytes > journal.limit('stderr'),
    }
    journal.end()
    return this.#toldBy(this.#ending)
  }

  #failed(error: unknown): never {
    this.#failure = error instanceof Error ? error : new Error(String(error))
    this.#started.journal.end()
    throw error
  }

  #toldBy(end: ExecResult): ExecResult {
    const { journal } = this.#started
    return { ...end, stdout: journal.text('stdout'), stderr: journal.text('stderr') }
  }
}

const nothing = new Uint8Array()

const tooMany = (): GloveboxError =>
  new GloveboxError('TOO_MANY_REQUESTS', `Cannot start the command now: ${maxRunning} run in the sandbox`, {
    hint: 'Wait until some of them have ended.',
    facts: { retryAfterSeconds: 1 },
  })

function limitsOf(sandbox: Runner): Limits {
  const { policy } = sandbox.describe()
  const bytes = (field: string): number => {
    const value = policy.find((each) => each.field === field)?.value
    if (typeof value !== 'number') throw new GloveboxError('INTERNAL', `Cannot run the command: ${field} is not set`)
    return value
  }
  return { stdout: bytes('maxStdoutBytes'), stderr: bytes('maxStderrBytes') }
}

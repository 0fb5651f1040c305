// Commands of a hosted sandbox that outlive the request that began them. What they say is kept, up to the limits of policy,
// so that any number of readers can follow at their own pace, leave, and come back behind the last byte that they saw.
import type { ExecResult, RunOptions } from '../../contract/exec.ts'
import { newExecId, type ExecId } from '../../contract/ids.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { type Journal, type JournalPart, type JournalPosition, openJournal, type StreamName } from './journal.ts'
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
  run(command: Command, options: RunOptions): Promise<ExecResult>
  start(command: Command, options: Omit<RunOptions, 'signal' | 'onStdout' | 'onStderr'>): HostedCommand
  find(execId: string): HostedCommand | undefined
  list(): readonly HostedCommand[]
  readonly running: number
}

/** Whatever runs commands under a policy. */
export type Runner = Pick<Sandbox, 'describe' | 'commands'>

export function openCommands(sandbox: Runner, shelf: Shelf): HostedCommands {
  const known = new Map<string, HostedCommand>()
  let running = 0

  const counted = async (work: Promise<ExecResult>): Promise<ExecResult> => {
    running += 1
    try {
      return await work
    } finally {
      running -= 1
    }
  }
  const makeRoom = (): void => {
    const ended = [...known.values()].filter(({ isOver }) => isOver)
    for (const { execId } of ended.slice(0, Math.max(0, ended.length - maxEnded))) known.delete(execId)
  }

  return {
    run: (command, options) => counted(sandbox.commands.run(command, options)),
    start(command, options) {
      if (running >= maxRunning) throw tooMany()
      const started = startCommand(sandbox, command, options, counted)
      known.set(started.execId, started)
      const ended = (): void => {
        makeRoom()
        shelf.put(started.keptBytes, () => known.delete(started.execId))
      }
      started.settled.then(ended, ended)
      return started
    },
    find: (execId) => known.get(execId),
    list: () => [...known.values()],
    get running() {
      return running
    },
  }
}

type StartOptions = Omit<RunOptions, 'signal' | 'onStdout' | 'onStderr'>

function startCommand(
  sandbox: Runner,
  command: Command,
  options: StartOptions,
  counted: (work: Promise<ExecResult>) => Promise<ExecResult>,
): HostedCommand {
  const stopping = new AbortController()
  const limits = limitsOf(sandbox)
  const journal = openJournal(limits)
  const work = sandbox.commands.run(command, {
    ...options,
    signal: stopping.signal,
    keepBytes: keptBesideBytes,
    lentChunks: true,
    onStdout: (chunk) => journal.add('stdout', chunk),
    onStderr: (chunk) => journal.add('stderr', chunk),
  })
  return new StartedCommand({ work: counted(work), limits, journal, stopping })
}

interface Started {
  readonly work: Promise<ExecResult>
  readonly limits: Readonly<Record<StreamName, number>>
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

  cancel(): void {
    this.#started.stopping.abort()
  }

  #ended(done: ExecResult): ExecResult {
    const { limits, journal } = this.#started
    this.#ending = {
      ...done,
      execId: this.execId,
      stdoutBytes: nothing,
      stderrBytes: nothing,
      stdoutTruncated: done.stdoutTotalBytes > limits.stdout,
      stderrTruncated: done.stderrTotalBytes > limits.stderr,
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

function limitsOf(sandbox: Runner): { readonly stdout: number; readonly stderr: number } {
  const { policy } = sandbox.describe()
  const bytes = (field: string): number => {
    const value = policy.find((each) => each.field === field)?.value
    if (typeof value !== 'number') throw new GloveboxError('INTERNAL', `Cannot run the command: ${field} is not set`)
    return value
  }
  return { stdout: bytes('maxStdoutBytes'), stderr: bytes('maxStderrBytes') }
}

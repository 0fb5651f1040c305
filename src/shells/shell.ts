// A persistent shell of a sandbox: commands one after another in one process that remembers, over nothing but a boundary's pipes.
// It promises that each command's outputs and end are its own, that a command which has to be ended takes nothing with it that
// can be kept, and that what could not be kept is told. When the process is gone the next command gets a new one.
// It must not know which backend carries it, what policy says, or who asks.
import type { ShellId } from '../contract/ids.ts'
import type { Redactor } from '../contract/redaction.ts'
import type { Shell, ShellExecOptions, ShellInfo, ShellResult, ShellStarted, ShellWaited } from '../contract/shell.ts'
import { GloveboxError } from '../errors/error.ts'
import { openEntry, type CommandLimits, type Entry } from './entry.ts'
import type { LiveShell } from './live.ts'
import { perform, type Performed } from './perform.ts'

export interface ShellParts {
  readonly id: ShellId
  readonly cwd: string
  /** Settles when the shell has answered for the first time. */
  start(): Promise<LiveShell>
  /** What a command may use. Refuses what policy does not allow. */
  limits(options: ShellExecOptions): CommandLimits
  /** Refuses a text that cannot be run, and says it as the boundary's own shell would have to read it. */
  text(command: string): string
  redact(): Redactor
  /** Around each command, from its call to its end. */
  use<T>(work: () => Promise<T>): Promise<T>
  conclude(performed: Performed): ConcludedResult
  onClosed(): void
}

/** All of a result but what the shell itself knows. */
export type ConcludedResult = Omit<ShellResult, 'shellId' | 'number' | 'command' | 'state' | 'note'>

/** Results that nobody may have asked for yet; the oldest goes first. */
const mostKept = 4

export async function openShell(parts: ShellParts): Promise<Shell> {
  const { id, cwd } = parts
  const openedAt = new Date().toISOString()
  const entries = new Map<number, Entry>()
  let live = await parts.start()
  let count = 0
  let done = 0
  let last: ShellResult | undefined
  let current: Entry | undefined
  let turn: Promise<unknown> = Promise.resolve()
  let closing: Promise<void> | undefined
  let wasKilled = false

  const requireOpen = (): void => {
    if (closing !== undefined) throw closed()
  }
  const forget = (): void => {
    const over = [...entries.values()].filter((entry) => entry.isOver())
    for (const entry of over.slice(0, Math.max(0, over.length - mostKept))) entries.delete(entry.number)
  }
  const runEntry = async (entry: Entry): Promise<ShellResult> => {
    requireOpen()
    entry.requireWanted()
    const isNew = !live.isAlive()
    if (isNew) live = await parts.start()
    if (closing !== undefined) {
      await live.close()
      throw closed()
    }
    current = entry
    try {
      const performed = await perform(live, entry, () => wasKilled)
      const { state } = performed
      const note = noteOf(performed.note, isNew && last?.state !== 'lost')
      last = {
        ...parts.conclude(performed),
        shellId: id,
        number: entry.number,
        command: entry.command,
        state,
        ...(note === undefined ? {} : { note }),
      }
      return last
    } finally {
      current = undefined
      done += 1
    }
  }
  const begin = (command: string, options: ShellExecOptions): ShellStarted => {
    requireOpen()
    const text = parts.text(command)
    const limits = parts.limits(options)
    if (options.signal?.aborted === true) throw cancelled()
    const redact = (): Redactor => parts.redact()
    const entry = openEntry({ id, number: (count += 1), command, text, limits, options, redact })
    entries.set(entry.number, entry)
    const result = parts.use(() => turn.then(() => runEntry(entry)))
    turn = result.then(forget, forget)
    entry.follow(result)
    return { number: entry.number, result }
  }
  const end = async (): Promise<void> => {
    wasKilled = true
    await live.close()
    await turn
    parts.onClosed()
  }
  const close = (): Promise<void> => {
    closing ??= end()
    return closing
  }
  const find = (number: number | undefined): Entry => {
    const entry = entries.get(number ?? count)
    if (entry !== undefined) return entry
    throw new GloveboxError('NOT_FOUND', 'Cannot wait for the command: the shell has none of that number', {
      hint: `Of what has ended, the last ${mostKept} are kept.`,
    })
  }
  const inspect = (): ShellInfo => ({
    id,
    kind: 'commands',
    status: closing !== undefined ? 'closed' : current === undefined ? 'idle' : 'busy',
    openedAt,
    cwd,
    commands: done,
    queued: [...entries.values()].filter((entry) => !entry.isOver() && entry !== current).length,
    ...(current === undefined ? {} : { current: current.told() }),
    ...(last === undefined ? {} : { last: toldOf(last) }),
  })

  return {
    id,
    kind: 'commands',
    exec: async (command, options = {}) => begin(command, options).result,
    async start(command, options = {}) {
      const begun = begin(command, options)
      // Told by `wait`, whether or not anybody awaits it here.
      begun.result.catch(() => {})
      return begun
    },
    async wait({ number, waitMs, signal }): Promise<ShellWaited> {
      return find(number).wait(waitMs, signal)
    },
    inspect: async () => inspect(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Between two commands it may have been killed, or the sandbox provisioned. */
function noteOf(note: string | undefined, hadEnded: boolean): string | undefined {
  if (!hadEnded) return note
  const told = 'the shell had ended since the last command: this one began in a new one'
  return note === undefined ? told : `${told}; ${note}`
}

const toldOf = ({ number, command, ended, exitCode, state }: ShellResult): NonNullable<ShellInfo['last']> => ({
  number,
  command,
  ended,
  exitCode,
  state,
})

const closed = (): GloveboxError =>
  new GloveboxError('SHELL_CLOSED', 'Cannot run the command: the shell has been closed', { hint: 'Open another one.' })

const cancelled = (): GloveboxError =>
  new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')

// Follows one command in a live shell to its end, and sees to it that it has one: by its deadline, by cancellation, or because
// whoever takes its output has failed. First the shell is asked to give it up, which keeps the shell; if it does not answer, it is ended.
import { constants } from 'node:os'
import type { ProcessExit } from '../contract/backend.ts'
import type { Ended } from '../contract/exec.ts'
import type { Redactor } from '../contract/redaction.ts'
import type { ShellState } from '../contract/shell.ts'
import type { Capture } from '../process/capture.ts'
import { howItEnded } from '../process/collect.ts'
import { readDeadline } from '../process/deadline.ts'
import type { Entry } from './entry.ts'
import type { LiveShell, Told } from './live.ts'
import type { Take } from './marked-stream.ts'

export interface Performed {
  readonly ended: Ended
  readonly stdout: ReturnType<Capture['result']>
  readonly stderr: ReturnType<Capture['result']>
  readonly durationMs: number
  readonly state: ShellState
  readonly note?: string
  /** The boundary failed before the shell began. */
  readonly setupFailed?: string
}

/** How long a shell that was asked to give a command up may take. Without a namespace of its own the whole process table is read. */
const patienceMs = 15_000

export async function perform(live: LiveShell, entry: Entry, wasClosed: () => boolean): Promise<Performed> {
  const startedMs = performance.now()
  const elapsedMs = (): number => Math.round(performance.now() - startedMs)
  let lastResort: NodeJS.Timeout | undefined
  const giveUp = (): void => {
    live.interrupt()
    lastResort ??= setTimeout(() => live.kill(), patienceMs)
  }
  let fault: { readonly error: unknown } | undefined
  const onFault = (error: unknown): void => {
    fault ??= { error }
    giveUp()
  }
  const { options, limits } = entry
  const stdout = openTaker({ capture: entry.stdout, consumer: options.onStdout, redactor: entry.redact(), onFault })
  const stderr = openTaker({ capture: entry.stderr, consumer: options.onStderr, redactor: entry.redact(), onFault })
  const deadline = readDeadline(limits.timeoutMs, options.signal, giveUp)
  try {
    const told = await live.run(entry.text, { stdout: stdout.take, stderr: stderr.take })
    await Promise.all([stdout.end(), stderr.end()])
    if (fault !== undefined) throw fault.error
    const fired = wasClosed() ? 'cancel' : deadline.fired()
    return {
      ended: endedBy(told, fired, elapsedMs()),
      ...('exit' in told && told.exit.setupFailed !== undefined ? { setupFailed: told.exit.setupFailed } : {}),
      stdout: entry.stdout.result(),
      stderr: entry.stderr.result(),
      durationMs: elapsedMs(),
      ...remainder(told, fired, live.dropped()),
    }
  } finally {
    deadline.clear()
    clearTimeout(lastResort)
  }
}

interface Taking {
  readonly capture: Capture
  readonly consumer: Take | undefined
  readonly redactor: Redactor
  readonly onFault: (error: unknown) => void
}

function openTaker({ capture, consumer, redactor, onFault }: Taking): { readonly take: Take; end(): Promise<void> } {
  let listening = consumer
  let pending: Promise<void> | undefined
  const stop = (error: unknown): void => {
    // The rest is still drained, so that the command can be ended.
    listening = undefined
    onFault(error)
  }
  const pass = (chunk: Uint8Array): Promise<void> | undefined => {
    if (chunk.length === 0) return undefined
    capture.add(chunk)
    try {
      pending = listening?.(chunk)?.catch(stop)
      return pending
    } catch (error) {
      stop(error)
      return undefined
    }
  }
  return {
    take: (chunk) => pass(redactor.push(chunk)),
    async end() {
      await pending
      await pass(redactor.end())
    },
  }
}

function endedBy(told: Told, fired: 'timeout' | 'cancel' | undefined, afterMs: number): Ended {
  if ('exit' in told) return howItEnded(gone(told.exit), fired, afterMs)
  // It may have come to its own end just before it was asked to.
  if (fired !== undefined && told.state !== 'kept') return { by: fired, afterMs }
  const signal = signalIn(told.code)
  return signal === undefined ? { by: 'exit', code: told.code } : { by: 'signal', signal }
}

/** The shell's own shell tells a signal as 128+n. */
function gone(exit: ProcessExit): ProcessExit {
  const signal = exit.code === undefined ? undefined : signalIn(exit.code)
  if (signal === undefined) return exit
  return exit.oomKilled === true ? { signal, oomKilled: true } : { signal }
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

function signalIn(code: number): string | undefined {
  const number = code - 128
  return number > 0 && number <= 64 ? (signalNames.get(number) ?? `SIG${number}`) : undefined
}

function remainder(
  told: Told,
  fired: 'timeout' | 'cancel' | undefined,
  dropped: number,
): { readonly state: ShellState; readonly note?: string } {
  const why = fired === undefined ? 'the command ended the shell' : 'the command had to be ended'
  const unheard = dropped === 0 ? [] : [`${dropped} bytes that were written between two commands were not kept`]
  const lines = [...(whatIsGone(told, why) ?? []), ...unheard]
  const state = 'exit' in told ? 'lost' : told.state === 'kept' ? 'kept' : 'rebuilt'
  return { state, ...(lines.length === 0 ? {} : { note: lines.join('; ') }) }
}

function whatIsGone(told: Told, why: string): readonly string[] | undefined {
  if ('exit' in told) return [`${why}: the next one begins in a new one, and what ran in the background has been ended`]
  if (told.state === 'rebuilt') return [`${why}: what runs in the background runs on, but is no longer its job`]
  if (told.state === 'half-rebuilt')
    return [`${why}: functions and traps are gone, and what runs in the background is no longer its job`]
  return undefined
}

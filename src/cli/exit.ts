// Exit codes. `exec`, `shell` and `run` lend their code to the command, so their own failures keep clear of the codes that commands use.
import type { ExecResult } from '../contract/exec.ts'
import { isGloveboxError } from '../errors/error.ts'
import type { FinishedRun } from '../runtime/runs/start.ts'

const ourFailure = 125
const usage = 2
const failed = 1
const authentication = 4
const brokenPipe = 141

/** Codes of the table that `exec` may give away, since the shell world knows them: timeout, not allowed, Ctrl-C. */
const conventional: ReadonlySet<number> = new Set([124, 126, 130])

export type CommandName = 'exec' | 'shell' | 'run' | 'explain' | 'doctor'

const lends = (command: CommandName | undefined): boolean =>
  command === 'exec' || command === 'shell' || command === 'run'

export function exitCodeForError(error: unknown, command: CommandName | undefined): number {
  const code = isGloveboxError(error) ? error.kind.exit : ourFailure
  if (lends(command)) return conventional.has(code) ? code : ourFailure
  return code === usage || code === authentication ? code : failed
}

export const exitCodeForUsage = (command: CommandName | undefined): number => (lends(command) ? ourFailure : usage)

/** Output was lost. A code that tells of another failure says more than ours; success, or that nobody wanted more, would be untrue. */
export function exitCodeWithLoss(code: number, command: CommandName | undefined): number {
  if (code !== 0 && code !== brokenPipe) return code
  return lends(command) ? ourFailure : failed
}

export interface Interruption {
  /** The signal that the operator sent, if any. */
  readonly signal?: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | undefined
  /** The reader of our output went away. */
  readonly readerGone?: boolean
}

const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** A command that ended by itself keeps its own code, even if a signal came in its last moment. */
export function exitCodeForResult(result: ExecResult, interruption: Interruption): number {
  if (result.ended.by !== 'cancel') return result.exitCode
  if (interruption.signal !== undefined) return signalCodes[interruption.signal]
  return interruption.readerGone === true ? brokenPipe : result.exitCode
}

/** A run that failed although its work went well owes a deliverable. */
export function exitCodeForRun({ record, outcome }: FinishedRun, interruption: Interruption): number {
  const { status } = record
  if (status === 'completed' || status === 'review_required') return 0
  if (status !== 'cancelled') return outcome.exitCode || failed
  if (interruption.signal !== undefined) return signalCodes[interruption.signal]
  return interruption.readerGone === true ? brokenPipe : signalCodes.SIGINT
}

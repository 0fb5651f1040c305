// Exit codes. `exec` lends its code to the command, so its own failures keep clear of the codes that commands use.
import type { ExecResult } from '../contract/exec.ts'
import { isGloveboxError } from '../errors/error.ts'

export const ourFailure = 125
const usage = 2
const failed = 1
const brokenPipe = 141

/** Codes of the table that `exec` may give away, since the shell world knows them: timeout, not allowed, Ctrl-C. */
const conventional: ReadonlySet<number> = new Set([124, 126, 130])

export type CommandName = 'exec' | 'explain' | 'doctor'

export function exitCodeForError(error: unknown, command: CommandName | undefined): number {
  const code = isGloveboxError(error) ? error.kind.exit : ourFailure
  if (command === 'exec') return conventional.has(code) ? code : ourFailure
  return code === usage ? usage : failed
}

export const exitCodeForUsage = (command: CommandName | undefined): number => (command === 'exec' ? ourFailure : usage)

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

// What bwrap's own end says about the command's.
import { constants } from 'node:os'
import type { ProcessExit } from '../../contract/backend.ts'
import type { ChildEnd } from '../../process/spawn.ts'

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

/** bwrap reports a signal as 128+n, as a shell does; a command that exits with such a code reads as that signal. */
export function signalIn(code: number): string | undefined {
  const number = code - 128
  return number > 0 && number <= 64 ? (signalNames.get(number) ?? `SIG${number}`) : undefined
}

export function readExit(end: ChildEnd, exitCode: number | undefined, killed: boolean): ProcessExit {
  if (exitCode !== undefined) {
    const signal = signalIn(exitCode)
    return signal === undefined ? { code: exitCode } : { signal }
  }
  if (killed) return { signal: 'SIGKILL' }
  if (end.error !== undefined) return { setupFailed: `bwrap could not be started: ${end.error.message}` }
  if (end.signal !== null) return { lost: `bwrap was ended by ${end.signal} from outside` }
  return { setupFailed: `bwrap ended with ${end.code} before the command began` }
}

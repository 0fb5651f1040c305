// What the end of a container says about the command's that ran in it.
import { constants } from 'node:os'
import type { ProcessExit } from '../../contract/backend.ts'
import type { ChildEnd } from '../../process/spawn.ts'

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

/** A shell tells a signal as 128+n; a command that exits with such a code reads as that signal. */
export function signalIn(code: number): string | undefined {
  const number = code - 128
  return number > 0 && number <= 64 ? (signalNames.get(number) ?? `SIG${number}`) : undefined
}

/** The container, or docker's hold on it, ended before the keeper had reported: never a guess of success or failure. */
export function exitOf({ code, signal }: ChildEnd, ranOutOfMemory: boolean): ProcessExit {
  if (ranOutOfMemory) return { signal: 'SIGKILL', oomKilled: true }
  return { lost: `docker, or the container, ended with ${code ?? signal} before the command's end was reported` }
}

/** What the keeper says of a command that it did not start. */
export const refusals: ReadonlyMap<string, ProcessExit> = new Map([
  ['nowhere', { setupFailed: 'the working directory cannot be entered' }],
  ['unlimited', { setupFailed: 'the limits could not be set' }],
  ['unwritten', { setupFailed: 'the file of a secret could not be written' }],
])

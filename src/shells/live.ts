// One shell process, from its start to its end: hands it a command, and tells what it said of the end.
import { randomBytes } from 'node:crypto'
import type { Process, ProcessExit } from '../contract/backend.ts'
import { openMarkedStream, type Take } from './marked-stream.ts'
import { endLine, runLines } from './script/boot.ts'

export interface Outputs {
  readonly stdout: Take
  readonly stderr: Take
}

/** `kept` and the others as the shell has told it; without a word of its own it has ended. */
export type Told =
  | { readonly code: number; readonly state: 'kept' | 'rebuilt' | 'half-rebuilt' }
  | { readonly exit: ProcessExit }

export interface LiveShell {
  /** One at a time. */
  run(command: string, outputs: Outputs): Promise<Told>
  /** Asks for the end of the command that runs, with all that it has started. */
  interrupt(): void
  /** Ends all of it, at once. */
  kill(): void
  /** Ends all of it from inside, so that what carries it can be used again; and at once where that takes too long. */
  close(): Promise<unknown>
  isAlive(): boolean
  /** Bytes that were written between commands and are gone. */
  dropped(): number
  readonly exit: Promise<ProcessExit>
}

const closingMs = 1000

export function openLiveShell(child: Process): LiveShell {
  const out = openMarkedStream(child.stdout)
  const err = openMarkedStream(child.stderr)
  let alive = true
  const exit = child.exit.then((how) => {
    alive = false
    return how
  })
  child.stdin?.on('error', () => {})
  const tell = (lines: string): void => void child.stdin?.write(lines)

  return {
    async run(command, outputs) {
      // SECURITY: 128 bits that nobody inside has seen before the command has ended.
      // test/attacks/shells: "a command cannot end its own share of the output, nor that of the next one"
      const mark = `=${randomBytes(16).toString('base64url')}`
      const ends = Promise.all([out.begin(mark, outputs.stdout), err.begin(mark, outputs.stderr)])
      tell(runLines(command, mark))
      const [word] = await ends
      const told = word === undefined ? undefined : readWord(word)
      // A word that is none of the shell's: somebody inside speaks in its name.
      if (word !== undefined && told === undefined) child.kill()
      return told ?? { exit: await exit }
    },
    interrupt: () => tell(endLine),
    kill: () => child.kill(),
    close() {
      child.stdin?.end()
      const timer = setTimeout(() => child.kill(), closingMs)
      return exit.finally(() => clearTimeout(timer))
    },
    isAlive: () => alive,
    dropped: () => out.dropped() + err.dropped(),
    exit,
  }
}

function readWord(word: string): Told | undefined {
  const [, code, state] = /^(\d{1,3}) (kept|rebuilt|half-rebuilt)$/.exec(word) ?? []
  if (code === undefined) return undefined
  return { code: Number(code), state: state as 'kept' | 'rebuilt' | 'half-rebuilt' }
}

// A command on a terminal that docker makes inside a container. Its shell says when it listens, is told what to run, and makes way;
// from then on the terminal is the command's alone, and how it ended is told by docker's own exit code.
import { randomBytes } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import type { ProcessExit } from '../../contract/backend.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import { openTerminal, type Terminal } from '../../process/terminal.ts'
import { signalIn } from './exit.ts'
import { begun, listening } from './keeper.ts'
import { openPreface } from './preface.ts'

export interface CommandOnTerminal {
  readonly stdin: Writable
  readonly stdout: Readable
  /** What the shell said of the command; undefined where it never got so far. */
  readonly told: Promise<string | undefined>
  /** When docker has let go of the terminal. */
  readonly ended: Promise<ChildEnd>
  readonly resize: (size: TerminalSize) => void
  /** What was written last is still to be read. */
  readonly close: () => void
  /** Where the container is gone and docker waits on: with gVisor it does so for ever. */
  readonly abandon: () => void
}

export interface Opening {
  readonly size: TerminalSize
  readonly start: (terminal: Terminal) => SpawnedChild
  /** What the shell is to be told. */
  readonly lines: (mark: string) => string
}

export function startOnTerminal({ size, start, lines }: Opening): CommandOnTerminal {
  const terminal = openTerminal(size)
  try {
    const child = start(terminal)
    const preface = openPreface(terminal.output)
    const mark = `glovebox-${randomBytes(16).toString('hex')}`
    const begin = async (): Promise<string | undefined> => {
      if ((await preface.line()) !== listening) return undefined
      terminal.input.write(lines(mark))
      const said = await preface.line()
      return said?.startsWith(mark) === true ? said.slice(mark.length).trim() : undefined
    }
    const told = begin()
    void told.then((word) => preface.end({ keepsRest: word === begun }))
    return {
      stdin: terminal.input,
      stdout: preface.rest,
      told,
      ended: child.ended,
      resize: (to) => terminal.resize(to),
      close: () => terminal.input.destroy(),
      abandon: () => child.kill('SIGKILL'),
    }
  } catch (error) {
    terminal.close()
    throw error
  } finally {
    terminal.releaseChildEnd()
  }
}

/** Where the command was begun, docker ends as it did. */
export function endOnTerminal(told: string | undefined, end: ChildEnd | undefined): ProcessExit {
  if (told !== begun) return { setupFailed: 'docker could not make a terminal in the container' }
  const code = end?.code ?? undefined
  if (code === undefined) return { lost: 'docker ended before the command did' }
  const signal = signalIn(code)
  return signal === undefined ? { code } : { signal }
}

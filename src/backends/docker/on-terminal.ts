// A command on a terminal that docker makes inside a container. Its shell says when it listens, is told what to run, and makes way;
// from then on the terminal is the command's alone, and how it ended is told by docker's own exit code.
import { randomBytes } from 'node:crypto'
import { Writable, type Readable } from 'node:stream'
import type { ProcessExit } from '../../contract/backend.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import { openTerminal, requireSize, type Terminal } from '../../process/terminal.ts'
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
    const hasBegun = told.then((word) => word === begun)
    void hasBegun.then((keepsRest) => preface.end({ keepsRest }))
    return {
      stdin: inputFor(terminal.input, hasBegun),
      stdout: preface.rest,
      told,
      ended: child.ended,
      resize: resizerOf({ terminal, hasBegun, remind: () => child.kill('SIGWINCH') }),
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

/** What is typed before the command has the terminal waits for it: the shell would take it for what it is to be told. */
function inputFor(input: Writable, hasBegun: Promise<boolean>): Writable {
  const held = new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      if (input.destroyed) return done()
      input.write(chunk, () => done())
    },
    destroy(error, done) {
      input.destroy()
      done(error)
    },
  })
  held.cork()
  void hasBegun.then((isThere) => (isThere ? held.uncork() : held.destroy()))
  // What was typed into a terminal that is gone is lost, as with every other terminal.
  input.once('close', () => held.destroy())
  return held
}

/** Docker listens for a change of size only after it has told the first one, which on a busy host may be after the command began. */
const deafMs = 5000
const remindersMs = [50, 250, 1000, 3000]

interface Resizing {
  readonly terminal: Pick<Terminal, 'resize'>
  readonly hasBegun: Promise<boolean>
  /** Docker looks at its terminal again. */
  readonly remind: () => void
}

/** The shell gives the terminal the size with which it was opened, just before it makes way: another one must come after that. */
function resizerOf({ terminal, hasBegun, remind }: Resizing): (size: TerminalSize) => void {
  let begunAt = Infinity
  let asked: TerminalSize | undefined
  const resize = (size: TerminalSize): void => {
    terminal.resize(size)
    if (performance.now() - begunAt < deafMs) for (const afterMs of remindersMs) setTimeout(remind, afterMs).unref()
  }
  void hasBegun.then((isThere) => {
    begunAt = performance.now()
    if (isThere && asked !== undefined) resize(asked)
  })
  return (size) => {
    requireSize(size)
    if (begunAt === Infinity) asked = size
    else resize(size)
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

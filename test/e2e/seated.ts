// The command line with a person who sits at it: a terminal of its own, a screen that is read, and keys that are typed.
import { spawn } from 'node:child_process'
import type { TerminalSize } from '../../src/contract/terminal.ts'
import { glovebox } from './command-line.ts'
import { openViewer, type Viewer } from './terminal-ground.ts'

const door = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href
const { openTerminal } = (await import(door('process/terminal.js'))) as typeof import('../../src/process/terminal.ts')
const { sessionCommand } = (await import(
  door('process/on-terminal.js')
)) as typeof import('../../src/process/on-terminal.ts')

export interface Person {
  readonly viewer: Viewer
  /** All that came, as it came. */
  raw(): string
  type(text: string): void
  resize(size: TerminalSize): void
  hangUp(): void
  /** The command itself, and not only what leads its session. */
  kill(signal: NodeJS.Signals): void
  readonly finished: Promise<number | null>
}

export interface Seated {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** What it says on stderr is seen, too. */
  readonly stderr?: boolean
}

const size = { cols: 90, rows: 25 }

/** The command line on a terminal of its own, with somebody who looks and types. */
export function sit(argv: readonly string[], { cwd, env = {}, stderr = false }: Seated): Person {
  const terminal = openTerminal(size)
  const [file, ...words] = sessionCommand(terminal, [process.execPath, glovebox, ...argv])
  const child = spawn(file, words, {
    cwd,
    env: { ...process.env, TERM: 'xterm-256color', ...env },
    stdio: [terminal.childEnd, terminal.childEnd, stderr ? terminal.childEnd : 'ignore'],
    detached: true,
  })
  terminal.releaseChildEnd()
  const viewer = openViewer(size)
  let raw = ''
  terminal.output.on('data', (chunk: Buffer) => {
    raw += chunk.toString()
    void viewer.draw(chunk)
  })
  return {
    viewer,
    raw: () => raw,
    type: (text) => void terminal.input.write(text),
    resize(to) {
      viewer.resize(to)
      terminal.resize(to)
    },
    hangUp: () => terminal.close(),
    kill: (signal) => void process.kill(-Number(child.pid), signal),
    finished: new Promise((resolve) => child.once('exit', resolve)),
  }
}

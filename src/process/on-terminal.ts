// A command on a terminal of its own, whatever starts it.
import type { Process } from '../contract/backend.ts'
import type { TerminalSize } from '../contract/terminal.ts'
import type { SpawnedChild } from './spawn.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** `start` hands the child's end on. */
export async function onTerminal(
  size: TerminalSize,
  start: (terminal: Terminal) => Promise<Process>,
): Promise<Process> {
  const terminal = openTerminal(size)
  try {
    const process = await start(terminal)
    // It could not be started, and has said so in another way.
    if (process.stdin !== terminal.input) terminal.close()
    void process.exit.then(() => terminal.input.destroy())
    return { ...process, resize: (next) => terminal.resize(next) }
  } catch (error) {
    terminal.close()
    throw error
  } finally {
    terminal.releaseChildEnd()
  }
}

/** A child that has the terminal, with our end of it for its streams. */
export const joined = (child: SpawnedChild, terminal: Terminal): SpawnedChild => ({
  ...child,
  stdin: terminal.input,
  stdout: terminal.output,
})

/**
 * For a child that leads a session: it opens the terminal, which becomes the session's, and runs the command. The new descriptor
 * waits for input, as programs expect; the one that was handed on never does. When the leader of a session ends, the kernel drops
 * what nobody has read yet; but not if all have let go of the terminal before.
 */
export const sessionCommand = (terminal: Terminal, argv: readonly string[]): readonly [string, ...string[]] => [
  '/bin/sh',
  '-c',
  [
    'exec 0<>"$0" && exec 1>&0 9>&0 2>/dev/null || exit 125',
    'trap : INT QUIT',
    '(exec "$@" 2>&9 9>&-)',
    // Whoever sees the end of the terminal closes it, and must not end its leader so.
    'code=$?; trap \'\' HUP; exec 0<&- 1>&- 9>&-; exit "$code"',
  ].join('\n'),
  terminal.path,
  ...argv,
]

// Puts a shell together inside: the guard reads what the host writes, the shell reads what the guard hands on, and its end is the end
// of it all. bash where there is one in a customary place, else the POSIX shell.
import { bashScript } from './bash.ts'
import { guardScript } from './guard.ts'
import { posixScript } from './posix.ts'

/** Forked by a part of the pipeline that ends at once, the guard is not waited for. A shell tells of a child's death by signal on its
 * standard error, where it would look like the command's own words. */
const bootScript = `${guardScript}
exec 3<&0 9>&2 2>/dev/null
{ alone=$1; guard <&3 3<&- 9>&- & } | {
  exec 2>&9 3<&- 9>&-
  for GLOVEBOX_SHELL_PROGRAM; do
    case $GLOVEBOX_SHELL_PROGRAM in */bash) ;; *) continue ;; esac
    [ -x "$GLOVEBOX_SHELL_PROGRAM" ] && exec "$GLOVEBOX_SHELL_PROGRAM" --norc --noprofile -c "$2" bash
  done
  exec /bin/sh -c "$3" sh "$3"
}`

const bashes = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash']

export interface BootOptions {
  /** The boundary has a pid namespace of its own. */
  readonly alone: boolean
  /** Where bash is looked for. */
  readonly bashes?: readonly string[]
}

export const bootCommand = (options: BootOptions): readonly [string, ...string[]] => [
  '/bin/sh',
  '-c',
  bootScript,
  'glovebox-shell',
  options.alone ? '1' : '0',
  bashScript,
  posixScript,
  ...(options.bashes ?? bashes),
]

/** The line breaks of a command would end the line. `GLOVEBOX_SHELL_ON` turns tracing on again, which was off between commands. */
const quote = (text: string): string =>
  `eval "$GLOVEBOX_SHELL_ON"'${text.replaceAll("'", `'\\''`).replaceAll('\n', `'"$GLOVEBOX_SHELL_NL"'`)}'`

export const runLines = (command: string, mark: string): string => `${quote(command)}\n${mark}\n`
export const endLine = 'end\n'

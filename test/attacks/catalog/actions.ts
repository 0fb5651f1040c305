import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('actions', { local: 'blocked' })

export const actions: readonly AttackRow[] = [
  blocked('run_command neither writes nor starts other programs', 'a bounded set of programs and of their options'),
  blocked(
    'run_command does not take a program from the workspace',
    'programs are found in the system’s directories only',
  ),
  blocked('a search does not follow a symlink out of its root', 'the search program follows no links'),
  blocked(
    "escape sequences in output do not reach the agent's text",
    'control characters are taken out of what an agent reads',
    { seen: 'srt' },
  ),
  blocked(
    'a program cannot print how it ended',
    'our line stands last, is never cut away, and no return can paint over it',
  ),
  blocked('a line break in a file name forges no line', 'an odd name is written as JSON writes a string'),
]

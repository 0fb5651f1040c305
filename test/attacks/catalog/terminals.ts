import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('terminals')
export const terminals: readonly AttackRow[] = [
  blocked(
    'a guest on a terminal has a session of its own',
    'its terminal is made for it alone, led by the first process inside; the filter refuses TIOCSTI there too',
    { seen: 'CVE-2017-5226' },
  ),
  blocked('a guest finds no terminal but its own', 'a /dev/pts of its own, into which no terminal of the host leads'),
  blocked(
    'a guest that draws without end ends its own screen at most',
    'the screen is kept by a thread with bounded memory and time, and the terminal goes on without it',
  ),
  blocked(
    "a guest reaches no further than the operator's screen",
    'what reaches the clipboard, files, printers, or asks for text that the guest has set is not shown',
    { seen: 'CVE-2003-0063, CVE-2019-9535', local: 'blocked' },
  ),
  blocked(
    'a shell that was left can be come back to by nobody else',
    "its socket lies in a directory of the state home that is the operator's alone",
    { local: 'blocked', hostSide: 'what keeps a shell is a process of the host, whatever the shell runs on' },
  ),
]

// From what was asked for to the words that are run. Pure.
import { mostWordBytes, type ExecCommand } from '../contract/exec-record.ts'
import type { GuestPath } from '../contract/mount.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { isWithin, parseGuestPath } from '../paths/guest.ts'
import { guestArtifacts, guestInputs, guestWork } from './layout.ts'

/** As the record keeps it: `bash`, `-lc`, the script; `python`, `-c`, the code; `python`, the file. */
export interface Words {
  readonly cmd: 'bash' | 'python'
  readonly args: readonly string[]
}

/** Of what is recorded, listed and found again: all that is larger belongs into a file. */
const mostBytes = 256 * 1024

export function wordsOf({ kind, command, args = [] }: ExecCommand): Words {
  refuseLong(command, args)
  return kind === 'shell' ? shellWords(command, args) : pythonWords(command, args)
}

function refuseLong(command: string | undefined, args: readonly string[]): void {
  const words = [
    ...(command === undefined ? [] : [['exec.command', command]]),
    ...args.map((each, index) => [`exec.args.${index}`, each]),
  ]
  let total = 0
  for (const [field = '', word = ''] of words) {
    const bytes = Buffer.byteLength(word)
    if (bytes > mostWordBytes) throw invalid(field, `it has more than ${mostWordBytes} bytes`, putIntoFile)
    total += bytes
    if (total > mostBytes) throw invalid(field, `with it the command has more than ${mostBytes} bytes`, putIntoFile)
  }
}

const putIntoFile = `Send it as one of the inputs, and read it from ${guestInputs}.`

function shellWords(command: string | undefined, args: readonly string[]): Words {
  if (command === undefined || (command === 'bash' && args.length > 0)) {
    if (args[0] !== '-lc' || args[1] === undefined)
      throw invalid('exec.args', 'bash is called with -lc and a script', 'Write the script into exec.command.')
    return { cmd: 'bash', args }
  }
  // The word after a script is its $0.
  return { cmd: 'bash', args: ['-lc', command, ...(args.length === 0 ? [] : ['bash', ...args])] }
}

function pythonWords(command: string | undefined, args: readonly string[]): Words {
  if (command === undefined || (command === 'python' && args.length > 0)) {
    const [first, code] = args
    if (first === '-c' && code !== undefined) return { cmd: 'python', args }
    if (first === undefined || first === '-c') throw invalid('exec.args', 'there is no code', codeOrFile)
    return { cmd: 'python', args: [checkFile('exec.args.0', first), ...args.slice(1)] }
  }
  if (command.startsWith(`${guestInputs}/`))
    return { cmd: 'python', args: [checkFile('exec.command', command), ...args] }
  return { cmd: 'python', args: ['-c', command, ...args] }
}

const codeOrFile = `Write the code into exec.command, or name a file below ${guestInputs}.`

function checkFile(field: string, text: string): string {
  const path = text.startsWith('/') ? parseGuestPath(text) : undefined
  if (path !== undefined && path !== guestInputs && isWithin(path, guestInputs as GuestPath)) return path
  throw invalid(field, `only files below ${guestInputs} are run`, codeOrFile)
}

// Not every system calls its Python by the short name. Which one it was, `python --version` tells inside.
const anyPython = 'if command -v python >/dev/null 2>&1; then exec python "$@"; else exec python3 "$@"; fi'

/** What the boundary is given. */
export const argvOf = ({
  cmd,
  args,
}: {
  readonly cmd: string
  readonly args: readonly string[]
}): [string, ...string[]] => (cmd === 'python' ? ['/bin/sh', '-c', anyPython, 'python', ...args] : [cmd, ...args])

/** A lexical check: whether it is there is seen when the command begins. */
export function cwdOf(asked: string | undefined): GuestPath {
  if (asked === undefined) return guestWork as GuestPath
  const path = parseCwd(asked)
  if ([guestInputs, guestWork, guestArtifacts].some((place) => isWithin(path, place as GuestPath))) return path
  throw new GloveboxError('INVALID_PATH', 'Cannot run the command: exec.cwd lies outside of the exec’s directories', {
    hint: `Choose a directory below ${guestWork}, ${guestInputs} or ${guestArtifacts}.`,
    facts: cwdField,
  })
}

const cwdField = { fields: ['exec.cwd'] }

function parseCwd(asked: string): GuestPath {
  try {
    return parseGuestPath(asked, guestWork as GuestPath)
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    const { code, message, hint } = error
    throw new GloveboxError(code, message, { ...(hint === undefined ? {} : { hint }), facts: cwdField, cause: error })
  }
}

const invalid = (field: string, cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot run the command: ${field}: ${cause}`, { hint, facts: { fields: [field] } })

// The keeper is the first process of a cell, a boundary that serves one command after another. Its only child waits for a line, becomes
// the command that the line names, and the keeper reports its end. A fork is a good part of a warm command's time, so it is
// done before the line comes. Between two commands the cell is as a new one would be: what a command leaves running, or lying in the
// cell's own places, ends the cell (see cell.ts), and the next command gets a new one.
import type { SpawnRequest } from '../../contract/backend.ts'
import { descriptors, giveBack, shellName } from './gate.ts'

/**
 * SECURITY: a copy of the shell that may be run but not read. The kernel then hides all of the process from its own user:
 * memory, descriptors, environment. Otherwise a command could write into the keeper's pipes, and run on after its end.
 * test/attacks/cells: "a command cannot speak to the keeper of its cell, nor in its name"
 */
export const keeperPath = '/.glovebox/sh'
export const keeperArguments = (descriptor: number): readonly string[] => [
  '--perms',
  '0111',
  '--ro-bind-data',
  String(descriptor),
  keeperPath,
]

/** No variable of the guest's may have such a name: in the shell that is about to become its command, it would change the line. */
const ownPrefix = 'GLOVEBOX_KEEPER_'
const lineBreak = `${ownPrefix}LINE_BREAK`
const asked = `${ownPrefix}REQUEST`

const refuse = (why: string): string => `{ echo ${why} >&${descriptors.report}; exit 125; }`

/** Said before anything of a command is done. */
export const begun = 'begun'

/** The host has looked the cell over after a command: another child may wait in it. */
export const goOn = 'next'

const script = [
  // A shell tells of a child's death by signal on its standard error, where it would look like the command's own words.
  'exec 9>&2 2>/dev/null',
  `enter() { cd -- "$1" || ${refuse('nowhere')}; command export PWD; unset OLDPWD; }`,
  `echo ready >&${descriptors.report}`,
  'while :; do',
  // All that does not need the line is done before it comes.
  `  (eval "$variables"; IFS= read -r ${asked} <&${descriptors.word} || exit 125`,
  // Without this word nothing of the command has run, and it may be given to another cell.
  `  echo ${begun} >&${descriptors.report}`,
  `  eval "$${asked}"; exec ${descriptors.report}>&- ${descriptors.word}<&- 2>&9 9>&-; exec "$@")`,
  `  echo "exit $?" >&${descriptors.report}`,
  // What these tables name outlives the processes that made it, and a shell sees it nowhere else.
  '  for kind in shm sem msg; do { read -r line && read -r line && exit 0; } </proc/sysvipc/$kind; done',
  `  echo clean >&${descriptors.report}`,
  // Anything else is a command for a child that somebody has killed; it is in another cell by now.
  `  IFS= read -r request <&${descriptors.word} && [ "$request" = ${goOn} ] || exit 0`,
  'done',
].join('\n')

/** The guest's variables stay under their other names in the keeper, where LD_PRELOAD must mean nothing. */
export const keeperCommand = (title: string, names: readonly string[]): readonly string[] => [
  keeperPath,
  '-c',
  `${lineBreak}='\n'\nvariables='${['true', ...names.map(giveBack)].join('; ')}'\n${script}`,
  shellName,
  title,
]

// A shell reads a byte per system call; beyond this a new boundary is as fast.
const longestLine = 8192

/** The line of a command that ends at once, where every cell is. */
export const nothing = 'set -- /bin/true'

/** What a command may use, where that is less than what its cell was made with. */
export interface CommandLimits {
  readonly processes: number
  readonly fileBlocks: number
}

/** One line for the keeper; undefined where the request does not go into one, and needs a boundary of its own. */
export function lineFor({ argv, cwd, env, stdin }: SpawnRequest, limits?: CommandLimits): string | undefined {
  if (stdin !== 'none') return undefined
  const steps = [
    ...(limits === undefined ? [] : [`${setLimits(limits)} || ${refuse('unlimited')}`]),
    `set -- ${argv.map(quote).join(' ')}`,
    `enter ${quote(cwd)}`,
    ...Object.entries(env).map(([name, value]) => `command export ${name}=${quote(value)}`),
  ]
  const line = steps.join('; ')
  return Buffer.byteLength(line) > longestLine ? undefined : line
}

/** SECURITY: by the process that is about to become the command, which can take less but never more for itself afterwards.
 * test/attacks/recycle: "a claim's narrower limits hold from its first command" */
const setLimits = ({ processes, fileBlocks }: CommandLimits): string =>
  `{ ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}; } && ulimit -f ${fileBlocks}`

export const canBeKept = (env: Readonly<Record<string, string>>): boolean =>
  !Object.keys(env).some((name) => name.startsWith(ownPrefix))

/** A line break inside would end the line. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`).replaceAll('\n', `'"$${lineBreak}"'`)}'`

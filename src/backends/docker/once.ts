// One command in a container of its own, which ends with it: what its first process is and reads, and what it says of the end. As it goes, the
// kernel ends all that the command has started. Pure: words and lines.
import { codeOfKilled } from './late-memory.ts'
import {
  bootHidden,
  countKills,
  endAll,
  exportsOf,
  first,
  leap,
  lineBreak,
  mark,
  steps,
  usualPath,
  type Command,
} from './keeper.ts'
import { elsewhere, sight } from './sight.ts'

/** Where a container of one command finds pipes that lead past docker. */
export const ownPipesPlace = '/.glovebox/pipes'
const ownPipes = { stdout: `${ownPipesPlace}/out`, stderr: `${ownPipesPlace}/err` } as const

/** What the first process of a container of one command says on docker's way, where its output has ways of its own. */
export const onceMark = 'glovebox'
/** Behind the mark, of a command that was killed for want of memory. */
export const outOfMemory = 'oom'

/** It reads the lines that a shell beside a keeper reads, and nothing after them. */
export const onceCommand = ({ hasOwnPipes }: { readonly hasOwnPipes: boolean }): readonly string[] =>
  hasOwnPipes ? ['-c', bootHidden, onceMark, tellingOnce] : ['-c', 'exec env -i /bin/sh -c "$0"', plainOnce]

const readLines = `IFS= read -r ${mark} && IFS= read -r variables && IFS= read -r request || exit 125`

const plainOnce = [
  `${lineBreak}='\n'`,
  'exec 9>&2 2>/dev/null',
  readLines,
  `(${first}; eval "$variables; $request"; exec 0</dev/null 2>&9 9>&-; exec "$@")`,
].join('\n')

/**
 * It tells the end itself, when nothing runs any more and nobody but it has the pipes: Docker takes half as long again to find that out.
 * Of one that was killed it asks the kernel's count, which is there before the end is: the daemon hears of the memory later, or not at all
 * where the command was quicker than the daemon's watch. It says nothing where it cannot see the count, and the daemon is asked after all.
 * SECURITY: hidden as the keeper is; a command could else tell its end, and change its artifacts behind it.
 * test/attacks/execs: "a command of an exec cannot tell its own end and go on"
 */
const tellingOnce = [
  usualPath,
  `${lineBreak}='\n'`,
  `[ -p ${ownPipes.stdout} ] && [ -p ${ownPipes.stderr} ] || exit 125`,
  `exec 8>&1 >${ownPipes.stdout} 9>${ownPipes.stderr} 2>/dev/null`,
  'kills=',
  ...leap,
  ...countKills,
  endAll,
  readLines,
  // Not zero where this host's groups are another container's.
  'count_kills; before=$kills',
  '(',
  '  (eval "$variables; $request"; exec 0</dev/null 2>&9 8>&- 9>&-; leap "$@")',
  '  code=$?; most=2; end_all; exit "$code"',
  ')',
  'code=$?; most=1; end_all; end="exit $code"',
  `if [ "$code" = ${codeOfKilled} ]; then`,
  '  count_kills; [ -n "$kills" ] || exit "$code"',
  `  [ "$kills" = "$before" ] || end=${outOfMemory}`,
  'fi',
  'exec >&- 9>&-',
  `echo "$${mark} $end" >&8`,
  'exit "$code"',
].join('\n')

/**
 * What is written to one that has ways of its own. Nobody speaks to such a container, so its first process looks by itself at what it sees,
 * before it has a variable or a word of the caller's.
 */
export function onceLines(
  env: Readonly<Record<string, string>>,
  request: Command,
  inodes: ReadonlyMap<string, bigint>,
): string {
  const refuse = (): string => `{ echo "$${mark} ${elsewhere}" >&8; exit 125; }`
  return `${onceMark}\n${[...sight(inodes, refuse), ...exportsOf(env)].join('; ')}\n${steps(request)}\n`
}

// The shell on the host that holds the pipes of a lasting command. It outlives us: it keeps the head of each output in a file, drains
// the rest, and writes down how the command ended, or with what docker did; or that the output could not be kept. Pure: words and lines.
import { join } from 'node:path'
import { onceMark, outOfMemory } from './once.ts'
import { elsewhere } from './sight.ts'

export interface Held {
  /** The output comes past docker, in pipes of the shell's own, so that it is whole also where docker loses its hold. */
  readonly hasOwnPipes: boolean
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
}

/** The command's own pipes are made in it, and nothing else. */
export const pipesIn = (dir: string): string => join(dir, 'pipes')
/** Of docker itself, where that is not among the command's own. */
export const complaintsIn = (dir: string, { hasOwnPipes }: Pick<Held, 'hasOwnPipes'>): string =>
  join(dir, hasOwnPipes ? 'said' : 'stderr')
export const isToldIn = (dir: string): string => join(dir, 'told')
/** Docker writes the id of the container down there. */
export const idIn = (dir: string): string => join(dir, 'id')

/** Of the end, as it is written down, with the line break. */
export const statusBytes = 16

const begin = [
  "line_break='\n'",
  'out=$1; err=$2; dir=$3',
  // Its room is taken at the beginning, so that it can be written when there is none.
  `printf '%${statusBytes - 1}s' '' >"$dir/status" || exit 0`,
  // Not `head`, which holds back what it has until it is much. The kernel ends the first `cat` at the limit, by SIGXFSZ.
  'keep() {',
  '  complaint=$(exec 2>&1; ulimit -c 0; ulimit -f "$1"; exec cat >"$2")',
  '  case $? in 0 | 153) ;; *)',
  '    case $complaint in *"No space left"* | *"quota exceeded"*) echo "unkept full" >&8 ;; *) echo "unkept fault" >&8 ;; esac',
  '  esac',
  '  cat >/dev/null',
  '}',
  // Built in, so that no other process sees a value among its arguments.
  'tell() { printf "%s\\n" "$mark" "$variables" "$request" 2>/dev/null; }',
  // From the first process of the container, on docker's own output; from the end of docker; or from those who keep the output.
  'hear() {',
  '  while IFS= read -r line <&8; do',
  '    case $line in',
  // An image may say something before it is told to be silent.
  `      "${onceMark} exit "*) end="exit \${line##* }"; return ;;`,
  ...[elsewhere, outOfMemory].map((word) => `      "${onceMark} ${word}") end=${word}; return ;;`),
  '      "docker "* | "unkept "*) end=${line##* }; return ;;',
  '    esac',
  '  done',
  '}',
  // When all that there was has been kept, or has not.
  'hear_out() {',
  '  echo over >&8',
  '  while IFS= read -r line <&8; do',
  '    case $line in "unkept "*) end=${line##* } ;; over) return ;; esac',
  '  done',
  '}',
]
const isTold = [
  'IFS= read -r words && IFS= read -r mark && IFS= read -r variables && IFS= read -r request || exit 0',
  ': >"$dir/told" || exit 0',
  'eval "set -- $words"',
]
/** Docker takes a while longer, and whoever started it may end it then. What is not kept is told at once, while all goes on. */
const finish = (whenKept: string): readonly string[] => [
  `case $end in full | fault) ;; *) ${whenKept}; hear_out ;; esac`,
  `printf '%-${statusBytes - 1}s\\n' "$end" 1<>"$dir/status"`,
  'wait "$running"',
]

/**
 * The daemon watches the memory of a container from a moment after its start, and has nothing to tell of what ran out of it before. So
 * where nobody else can tell, the command is handed over when the daemon says that the container runs, which it does behind that moment.
 */
const awaitWatch = [
  'await_watch() {',
  '  until [ -s "$dir/id" ] && [ "$("$0" container inspect --format "{{.State.Running}}" -- "$(cat "$dir/id")")" = true ]; do',
  '    [ -e "$dir/making" ] || exit',
  '    sleep 0.05',
  '  done',
  '}',
]

const throughDocker = [
  // Made at the beginning: there may be no room for it when docker has ended.
  'mkfifo "$dir/word" && : >"$dir/making" || exit 0',
  'exec 8<>"$dir/word"',
  ...isTold,
  ...awaitWatch,
  'run() { { await_watch 2>/dev/null; tell; } 3>&- 8>&- | { "$0" "$@" 3>&- 8>&-; echo "docker $?" >&8; rm -f "$dir/making"; }; }',
  '{ { run "$@" 2>&1 1>&3 | keep "$err" "$dir/stderr"; } 3>&1 | keep "$out" "$dir/stdout"; } & running=$!',
  'hear',
  ...finish('wait "$running"'),
]

/**
 * A pipe opens for whoever reads only when somebody writes, and the other way round; so the shell holds both ends until it hears that the
 * command has ended. It lets go of them then, and they end with the last process of the container, whether or not docker still has a
 * hold on it.
 * The directory is ours alone, so that everybody may write to them who is shown one: whoever the guest is.
 */
const pastDocker = [
  'pipes=$dir/pipes; mkfifo -m 666 "$pipes/out" "$pipes/err" "$dir/word" || exit 0',
  'exec 4<>"$pipes/out" 5<>"$pipes/err" 6<"$pipes/out" 7<"$pipes/err" 8<>"$dir/word"',
  ...isTold,
  // By `exec`: what is redirected for a function alone is kept, to be put back after it.
  '(exec <&6 4>&- 5>&- 6>&- 7>&-; keep "$out" "$dir/stdout") & keeping_out=$!',
  '(exec <&7 4>&- 5>&- 6>&- 7>&-; keep "$err" "$dir/stderr") & keeping_err=$!',
  'exec 6>&- 7>&-',
  '{ tell | "$0" "$@" >&8 8>&- 2>"$dir/said"; echo "docker $?" >&8; } 4>&- 5>&- & running=$!',
  'hear',
  ...finish('exec 4>&- 5>&-; wait "$keeping_out" "$keeping_err"'),
]

/**
 * `$0` is docker. The words of its command line come first on the input, and then three lines for the container. Whoever writes them
 * may be killed in the middle: nothing is begun before all of them are there, since half a command would end as one that failed.
 */
export const holdingScript = ({ hasOwnPipes }: Pick<Held, 'hasOwnPipes'>): string =>
  [...begin, ...(hasOwnPipes ? pastDocker : throughDocker)].join('\n')

export const holdingArguments = (dir: string, { maxStdoutBytes, maxStderrBytes }: Held): readonly string[] => [
  blocksFor(maxStdoutBytes),
  blocksFor(maxStderrBytes),
  dir,
]

/** One byte beyond the limit, at least, tells that there was more. Some shells count in kilobytes, and keep twice as much. */
const blocksFor = (bytes: number): string => String(Math.ceil((bytes + 1) / 512))

export const wordsLine = (words: readonly string[]): string => `${words.map(quote).join(' ')}\n`

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`).replaceAll('\n', `'"$line_break"'`)}'`

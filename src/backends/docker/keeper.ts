// The keeper is the first process of a container, and serves it one command after another. It is a POSIX shell, so that any
// image that has one will do. It reads lines on its standard input: once, a mark, what it must see and the sandbox's variables; then, for
// each command, a mark and a request. It runs the request, ends all that is left of it, and writes the mark with the exit code
// behind the command's last byte on both outputs: what a pipe carries has an order, and a report on a way of its own has none.
import type { SpawnRequest } from '../../contract/backend.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import { secretsDirectory, type SecretFile } from '../../contract/vault.ts'

/** What a command may use, where that is less than what its container was made with. */
export interface CommandLimits {
  readonly fileSizeMb: number
}

/** A shell counts in blocks of 512 bytes. */
const blocksPerMebibyte = 2048

export type Command = Pick<SpawnRequest, 'argv' | 'cwd' | 'env' | 'secrets'>

export const privatePlace = '/.glovebox/run'

/** No variable of the guest's may have such a name: in the shell that is about to become its command, it would change the line. */
const ownPrefix = 'GLOVEBOX_KEEPER_'
export const lineBreak = `${ownPrefix}LINE_BREAK`
export const mark = `${ownPrefix}MARK`

/** What a command can leave things in that no mount has. */
const privatePlaces = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue'] as const

export interface KeeperTraits {
  /** The kernel lets a program run that its user may not read. gVisor does not. */
  readonly canHide: boolean
  readonly ownNetwork: boolean
}

/**
 * SECURITY: a copy of the shell that may be run but not read. The kernel then hides all of the process from its own user:
 * memory, descriptors, environment. Otherwise a command could write into the keeper's pipes, and run on after its end.
 * test/attacks/docker: "a command cannot speak to the keeper of its container, nor in its name"
 */
export const bootHidden = [
  'umask 0444',
  `cp /bin/sh ${privatePlace}/sh`,
  'umask 022',
  // Of the image's own variables, none is the guest's.
  `exec env -i ${privatePlace}/sh -c "$1" "$0"`,
].join(' && ')
const bootPlain = 'exec env -i /bin/sh -c "$1" "$0"'

/**
 * BusyBox may be built to be shell and programs in one, which runs what it has without looking for a file: a command would become the
 * copy that nobody may read, to which its own /proc/self, and with it /dev/stdin and /dev/stderr, is closed. It then starts from the
 * image's own shell. Such a shell tells of its programs no place.
 */
export const leap = [
  'leap() { exec "$@"; }',
  `case $(command -v cp) in /*) ;; *) leap() { exec /bin/sh -c 'exec "$@"' sh "$@"; } ;; esac`,
]

/** How many processes the kernel has ended for want of memory; cgroup v2 and v1 tell it under one name. */
export const countKills = [
  'count_kills() {',
  '  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do',
  '    [ -r "$file" ] && while read -r key value; do [ "$key" = oom_kill ] && kills=$value; done <"$file"',
  '  done',
  '}',
]

/** The guest's own, unlike the others: it could else be closed to the keeper's look, with something in it. */
const isOpen = ['-r', '-w', '-x'].map((test) => `[ ${test} ${privatePlace} ]`).join(' && ')

const anyOf = [...privatePlaces, privatePlace]
  .flatMap((place) => [`${place}/*`, `${place}/.[!.]*`, `${place}/..?*`])
  .join(' ')

// After a command nothing runs but the keeper, so removing what was left is a race with nobody.
const tidy = (ownNetwork: boolean): readonly string[] => [
  'is_empty() { for entry; do { [ -e "$entry" ] || [ -L "$entry" ]; } && return 1; done; return 0; }',
  'tidy() {',
  `  ${isOpen} || exit 0`,
  `  is_empty ${anyOf} || { rm -rf -- ${anyOf}; is_empty ${anyOf} || exit 0; }`,
  // What these tables name outlives the processes that made it, and a shell sees it nowhere else.
  '  for kind in shm sem msg; do { read -r line && read -r line && exit 0; } </proc/sysvipc/$kind; done',
  // A port on which something was served stays taken for a minute after its connections were closed.
  ...(ownNetwork
    ? [
        '  while read -r name k1 v1 k2 v2 k3 waiting rest; do [ "$name" = TCP: ] && [ "$waiting" != 0 ] && exit 0; done </proc/net/sockstat',
      ]
    : []),
  '  return 0',
  '}',
]

/**
 * SECURITY: a signal to -1 reaches, in one step, everything in the pid namespace but its first process and the sender, so nothing can
 * fork its way out. test/attacks/docker: "nothing that a command started outlives it in its container"
 * It is sent by a child of the keeper that was there before the command: where every process number is taken, no new one could be
 * started, and the keeper, which waits for that child, takes the dead off the list meanwhile.
 */
export const endAll =
  'end_all() { set -- /proc/[0-9]*; while [ $# -gt "$most" ]; do kill -9 -1; set -- /proc/[0-9]*; done; }'
export const usualPath = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const script = ({ ownNetwork, canHide }: KeeperTraits): string =>
  [
    usualPath,
    `${lineBreak}='\n'`,
    // A shell tells of a child's death by signal on its standard error, where it would look like the command's own words.
    'exec 9>&2 2>/dev/null',
    'kills=0',
    ...leap,
    ...countKills,
    ...tidy(ownNetwork),
    endAll,
    // The keeper runs on without its name; and so the place is empty, as the next command must find it.
    ...(canHide ? [`rm -f ${privatePlace}/sh`] : []),
    `IFS= read -r ${mark} && IFS= read -r sight && IFS= read -r variables || exit 0`,
    '(eval "$sight") || exit 0',
    'count_kills',
    `echo "$${mark} ready $kills"; echo "$${mark} ready" >&9`,
    // At the end of the input a shell empties what it was to read into.
    `last=$${mark}`,
    `while IFS= read -r ${mark} && IFS= read -r request; do`,
    `  last=$${mark}`,
    '  [ -n "$request" ] || break',
    '  (',
    '    (eval "$variables; $request"; exec 0</dev/null 2>&9 9>&-; leap "$@")',
    '    code=$?; most=2; end_all; exit "$code"',
    '  )',
    '  code=$?; most=1; end_all',
    // Also behind one that ended otherwise: what was killed of it is none of the next one's.
    '  count_kills',
    `  echo "$${mark} exit $code $kills"; echo "$${mark} exit" >&9`,
    '  tidy',
    `  echo "$${mark} clean"`,
    'done',
    // At the end of its input nothing runs but the keeper; what Docker still has to clear away need not be waited for.
    'echo "$last over"',
  ].join('\n')

/** What follows the image on docker's command line. `title` is the warden's token. */
export const keeperCommand = (traits: KeeperTraits, title: string): readonly string[] => [
  '-c',
  traits.canHide ? bootHidden : bootPlain,
  title,
  script(traits),
]

/** The first three lines. `sight` is looked at before the keeper says that it is ready. */
export const openingLines = (nonce: string, env: Readonly<Record<string, string>>, sight: readonly string[]): string =>
  `${nonce}\n${['true', ...sight].join('; ')}\n${variablesLine(env)}\n`

const variablesLine = (env: Readonly<Record<string, string>>): string => ['true', ...exportsOf(env)].join('; ')

export const requestLines = (nonce: string, request: Command, limits?: CommandLimits): string =>
  `${nonce}\n${steps(request, limits)}\n`

/** The keeper ends, and the container with it. Docker is slower to tell it that its input has ended. */
export const closingLines = (nonce: string): string => `${nonce}\n\n`

/** Nothing is run; what is left is ended. */
export const sweepLines = (nonce: string): string => `${nonce}\nexit 0\n`

/**
 * Where memory runs out, the guest is the kernel's first choice, and not the keeper. Of a shell that nobody may read not even its own user
 * may say so, so that what the keeper starts is no more likely than itself.
 */
export const first = 'echo 1000 >/proc/self/oom_score_adj'

/**
 * A command that reads its input is started by docker beside the keeper, since the keeper's own input carries lines. Its shell reads
 * the same lines first, byte by byte, and leaves the rest to the command.
 */
export const besideCommand: readonly string[] = [
  'env',
  '-i',
  '/bin/sh',
  '-c',
  [
    `${lineBreak}='\n'`,
    'exec 9>&2 2>/dev/null',
    `IFS= read -r ${mark} && IFS= read -r variables && IFS= read -r request || exit 125`,
    `(${first}; eval "$variables; $request"; exec 2>&9 9>&-; exec "$@")`,
    'code=$?',
    `echo "$${mark} exit $code 0"; echo "$${mark} exit" >&9`,
  ].join('\n'),
]

/** What the shell on a terminal says when the lines may come, and the word with which it makes way for the command. */
export const listening = 'listening'
export const begun = 'begun'

/**
 * The same for a command on a terminal, which docker makes inside. A terminal shows what is written to it and takes no long lines,
 * until it is told otherwise. The shell outlives an interrupt from the keyboard, which is the command's to answer.
 */
export const terminalCommand = ({ cols, rows }: TerminalSize): readonly string[] => [
  'env',
  '-i',
  '/bin/sh',
  '-c',
  [
    `${lineBreak}='\n'`,
    'trap : INT QUIT',
    'set_terminal() (PATH=/usr/bin:/bin; stty "$@")',
    `set_terminal raw -echo || exit 125; echo ${listening}`,
    `IFS= read -r ${mark} && IFS= read -r variables && IFS= read -r request || exit 125`,
    'set_terminal sane cols "$0" rows "$1"; shift',
    'exec 9>&2 2>/dev/null',
    `(${first}; eval "$variables; $request"; echo "$${mark} ${begun}"; exec 2>&9 9>&-; exec "$@")`,
    // When the leader of a session ends, the kernel drops what nobody has read yet; but not if all have let go of the terminal before.
    // And whoever sees the end of the terminal closes it, and must not end its leader so.
    'code=$?; trap \'\' HUP; exec 0<&- 1>&- 9>&-; exit "$code"',
  ].join('\n'),
  String(cols),
  String(rows),
]

export const besideLines = (
  nonce: string,
  env: Readonly<Record<string, string>>,
  request: Command,
  limits?: CommandLimits,
): string => `${nonce}\n${variablesLine(env)}\n${steps(request, limits)}\n`

export function steps({ argv, cwd, env, secrets }: Command, limits?: CommandLimits): string {
  return [
    // SECURITY: by the process that is about to become the command, which can take less but never more for itself afterwards.
    // test/attacks/recycle: "a claim's narrower limits hold from its first command"
    ...(limits === undefined
      ? []
      : [`ulimit -f ${limits.fileSizeMb * blocksPerMebibyte} || { echo "$${mark} unlimited"; exit 125; }`]),
    `cd -- ${quote(cwd)} || { echo "$${mark} nowhere"; exit 125; }`,
    'command export PWD; unset OLDPWD',
    ...(secrets?.files ?? []).map(writeSecret),
    ...exportsOf({ ...env, ...secrets?.env }),
    `set -- ${argv.map(quote).join(' ')}`,
  ].join('; ')
}

/** By what every shell has built in, so that no other process sees the value among its arguments. */
function writeSecret({ name, bytes }: SecretFile): string {
  const buffer = Buffer.from(bytes)
  const text = buffer.toString('utf8')
  const isText = !buffer.includes(0) && Buffer.from(text, 'utf8').equals(buffer)
  const octal = (): string => Array.from(buffer, (byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('')
  const value = isText ? `%s ${quote(text)}` : `%b '${octal()}'`
  return `(umask 0377; printf ${value} >${secretsDirectory}/${name}) || { echo "$${mark} unwritten"; exit 125; }`
}

export const exportsOf = (env: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(env).map(([name, value]) => `command export ${name}=${quote(value)}`)

export const canBeKept = (env: Readonly<Record<string, string>>): boolean =>
  !Object.keys(env).some((name) => name.startsWith(ownPrefix))

/** A line break inside would end the line. */
export const quote = (text: string): string =>
  `'${text.replaceAll("'", `'\\''`).replaceAll('\n', `'"$${lineBreak}"'`)}'`

// The gate is the first process inside and stays the first: everything else ends with it. It waits for the host's word before it
// starts the command, and so closes two holes: the command cannot run before it is under its limits, and if the host
// process is killed before bwrap has tied its life to it, the word never comes and nothing runs. Then it sets the limits
// that only a process can set on itself. bwrap's own first process would stand outside of them, within the guest's reach.

/** Descriptors of a started bwrap, by what they carry; `status` is bwrap's own, and a cell's `report` takes its place inside. From `first` on: mount roots (bwrap's), then entries (the gate's). */
export const descriptors = { arguments: 3, filter: 4, status: 5, report: 5, word: 6, first: 7 } as const

// SECURITY: variables of the guest's choice (LD_PRELOAD, LD_AUDIT, SHELLOPTS) would run code in the gate itself, before the limits
// hold and before the host's word; so bwrap sets them under other names, and the gate gives them back at the end.
// test/attacks/environment: "a variable of the guest's choice does not reach the gate"
const heldBack = 'GLOVEBOX_GATE_'
export const nameAtGate = (name: string): string => `${heldBack}${name}`

// dash calls the limit of processes -p, bash calls it -u; blocks of -f are 512 bytes in both when they run as sh.
const takeLimits = [
  `IFS= read -r word <&${descriptors.word} || exit 125`,
  'for entry in $3; do echo 0 >&"$entry" || exit 125; done',
  // Where no memory limit holds, the guest is the kernel's first choice, and never protected as its host may be.
  'echo 1000 >/proc/self/oom_score_adj && ulimit -c 0 && { ulimit -u "$1" 2>/dev/null || ulimit -p "$1"; } && ulimit -f "$2" || {',
  '  echo "glovebox: the limits could not be set" >&2; exit 125; }',
]

/** Gives a variable of the guest's its name back. */
export const giveBack = (name: string): string =>
  `command export ${name}="$${heldBack}${name}"; unset ${heldBack}${name}`

// The descriptors that a single digit names are closed here; bwrap has closed those that it was given.
const startCommand = [
  'exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-',
  'shift 4',
  `while [ "$1" != -- ]; do eval "command export $1=\\"\\$${heldBack}$1\\"; unset ${heldBack}$1" 2>/dev/null; shift; done`,
  'shift',
  // A shell tells of a child's death by signal on its standard error, where it would look like the command's own words.
  'exec 9>&2 2>/dev/null',
  '(exec "$@" 2>&9 9>&-)',
]

export const gateScript = [...takeLimits, ...startCommand].join('\n')

/**
 * The gate leads a session without a terminal, so the one that it opens becomes the session's. The guest's /dev/pts is another
 * one than the host's, so it is opened by its descriptor; which also gives the guest one that waits, while ours never does.
 * SECURITY: the session is the guest's own; were it the operator's, the guest could type into it.
 * test/attacks/terminals: "a guest on a terminal has a session of its own"
 */
export const terminalGateScript = [
  ...takeLimits,
  'exec 0<>/proc/self/fd/0 && exec 1>&0 2>&0 && : </dev/tty || exit 125',
  // What is typed as an interrupt is the command's to answer.
  'trap : INT QUIT',
  ...startCommand,
  'code=$?',
  // When the leader of a session ends, the kernel drops what nobody has read yet; but not if all have let go of the terminal before.
  'trap \'\' HUP; kill -9 -1; exec 0<&- 1>&- 9>&-; exit "$code"',
].join('\n')

/** The gate of a cell becomes its keeper, and leaves it the word's pipe and, in place of an input, the one of its reports. */
export const cellGateScript = [
  ...takeLimits,
  `exec ${descriptors.report}>&0 0</dev/null 3<&- 4<&- 7<&- 8<&- 9<&-`,
  'shift 4',
  'while [ "$1" != -- ]; do shift; done',
  'shift',
  'exec "$@"',
].join('\n')

/** Who tells a person that there is no such program. */
export const shellName = 'glovebox'

export interface GateRequest {
  readonly processes: number
  readonly fileBlocks: number
  /** Descriptors of control groups into which the gate puts itself; of one digit, since dash names no others. */
  readonly entries?: readonly number[]
  /** Names of the guest's variables; their values stay off the command line. */
  readonly names: readonly string[]
  /** By what the gate is found among the host's processes: the warden's token. */
  readonly title?: string
  /** Default: the one that stays before a single command. */
  readonly script?: string
}

export const gateCommand = (limits: GateRequest): readonly string[] => [
  '/bin/sh',
  '-c',
  limits.script ?? gateScript,
  shellName,
  String(limits.processes),
  String(limits.fileBlocks),
  (limits.entries ?? []).join(' '),
  limits.title ?? '',
  ...limits.names,
  '--',
]

// A persistent shell: what one command leaves behind is there for the next one. Two kinds are opened by one door: a shell that
// runs commands and tells of each how it ended, and a terminal that carries bytes both ways as a person's would.
// Each sentence marked "Law" has a case in the torture suite with the same words.
import type { Ended, ExecResult, RunOptions } from './exec.ts'
import type { ShellId } from './ids.ts'
import type { TerminalSize } from './terminal.ts'

/**
 * What is left of a shell after a command. `kept`: all of it. `rebuilt`: the command ended the shell (`exit`, `set -e`) or had to be
 * ended in it (timeout, cancel), and another one stands in its place with the same directory, variables, functions, aliases,
 * options, traps, mask and open files; what ran in the background runs on, but is no longer its job. `lost`: nothing of that; the
 * next command begins in a shell as it was when it was opened, and what ran in the background has been ended.
 */
export type ShellState = 'kept' | 'rebuilt' | 'lost'

export interface ShellResult extends ExecResult {
  readonly shellId: ShellId
  /** Commands of a shell are numbered from 1 in the order in which they run. */
  readonly number: number
  readonly command: string
  readonly state: ShellState
  /** In words, where the state is not `kept`: why, and what is gone. */
  readonly note?: string
}

/** A command that has not ended, with the head of what it has said so far. */
export interface ShellProgress {
  readonly shellId: ShellId
  readonly number: number
  readonly command: string
  /** False: it waits for those before it. */
  readonly started: boolean
  readonly elapsedMs: number
  readonly stdout: string
  readonly stderr: string
  readonly stdoutTotalBytes: number
  readonly stderrTotalBytes: number
}

export type ShellWaited =
  | { readonly done: true; readonly result: ShellResult }
  | { readonly done: false; readonly progress: ShellProgress }

export interface ShellWaitOptions {
  /** Which command; the last one that was given to the shell, if none is named. */
  readonly number?: number
  /** How long at most. 0 answers at once. */
  readonly waitMs: number
  readonly signal?: AbortSignal
}

export type ShellExecOptions = Pick<RunOptions, 'timeoutMs' | 'signal' | 'onStdout' | 'onStderr' | 'keepBytes'>

export interface ShellInfo {
  readonly id: ShellId
  readonly kind: 'commands' | 'terminal'
  readonly status: 'idle' | 'busy' | 'closed'
  readonly openedAt: string
  /** Where it was opened, and where it starts again after its state was lost. */
  readonly cwd: string
  /** How many commands have ended. Of a terminal: 0. */
  readonly commands: number
  /** How many wait behind the current one. */
  readonly queued: number
  readonly current?: { readonly number: number; readonly command: string; readonly elapsedMs: number }
  readonly last?: {
    readonly number: number
    readonly command: string
    readonly ended: ShellResult['ended']
    readonly exitCode: number
    readonly state: ShellState
  }
  /** Of a terminal. */
  readonly size?: TerminalSize
}

interface AnyShell extends AsyncDisposable {
  readonly id: ShellId
  inspect(): Promise<ShellInfo>
  /** Law: close ends the shell and everything that was started in it, and is idempotent; what still waits is refused. */
  close(): Promise<void>
}

export interface ShellStarted {
  readonly number: number
  readonly result: Promise<ShellResult>
}

export interface Shell extends AnyShell {
  readonly kind: 'commands'
  /**
   * The text is run as it stands; it reads end of file from its input. The options are those of `commands.run`; timeoutMs begins with
   * the command and not with its waiting. A cancelled command that has not begun is refused with CANCELLED and never runs.
   * Law: commands given to one shell at the same time run one after another, in the order of their calls.
   */
  exec(command: string, options?: ShellExecOptions): Promise<ShellResult>
  /** As exec, but answers as soon as the command is in its place, with its number. A refusal is told by `wait`. */
  start(command: string, options?: ShellExecOptions): Promise<ShellStarted>
  /** Law: wait answers when the command has ended or when its time is over, whichever comes first, and disturbs nothing. */
  wait(options: ShellWaitOptions): Promise<ShellWaited>
}

/** Bytes of a terminal from an offset on, counted from its first. */
export interface TerminalChunk {
  readonly offset: number
  readonly bytes: Uint8Array
  /** These bytes are no output: they draw the screen as it stood at `offset` on an empty terminal. Reading goes on at `offset`. */
  readonly redraws?: true
}

export interface TerminalScreen {
  /** Where reading goes on. */
  readonly offset: number
  readonly size: TerminalSize
  /** They draw it on an empty terminal of the same size. */
  readonly bytes: Uint8Array
}

export interface TerminalEnd {
  readonly ended: Ended
  readonly exitCode: number
}

export interface Terminal extends AnyShell {
  readonly kind: 'terminal'
  /** Settles when the terminal has taken it; a program that reads nothing lets it wait. Refused with BUSY where too much waits
   * already, and with SHELL_CLOSED after the end. */
  write(bytes: Uint8Array | string): Promise<void>
  resize(size: TerminalSize): Promise<void>
  /**
   * From the first byte on, where no offset is given. A reader that is slow holds nobody up and costs no memory.
   * Law: a reader that comes back gets every byte from its offset on; where those are not kept any more, the screen as it stands, and
   * every byte behind it.
   */
  read(options?: { readonly from?: number; readonly signal?: AbortSignal }): AsyncIterable<TerminalChunk>
  /** Law: screen shows what a person at the terminal would see, however much went over it before. */
  screen(): Promise<TerminalScreen>
  /** Settles with the end of the program in it. */
  readonly ended: Promise<TerminalEnd>
}

export interface ShellOpenOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface TerminalOpenOptions extends ShellOpenOptions {
  readonly pty: true | TerminalSize
  /** Instead of a shell. */
  readonly argv?: readonly [string, ...string[]]
}

export interface SandboxShells {
  open(options?: ShellOpenOptions): Promise<Shell>
  open(options: TerminalOpenOptions): Promise<Terminal>
  /** Those that are open, in the order of their opening. */
  list(): Promise<readonly ShellInfo[]>
  /** Throws NOT_FOUND. */
  get(id: string): Promise<Shell | Terminal>
}

// Commands that go on when the process that started them dies, where the mechanism can: a later process finds them again under
// the sandbox's id, with their output from any byte on and their true end. One command to a boundary, which ends with it.
import type { Plan, ProcessExit, SpawnRequest } from './backend.ts'
import type { SandboxId } from './ids.ts'

export interface LastingRequest extends Omit<SpawnRequest, 'stdin'> {
  /** What is kept of each output; the rest is drained. */
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
  /** Called when everything is made and nothing has run. Where it throws, nothing runs. */
  readonly onBeginning?: () => void
}

export interface LastingFollow {
  /** Bytes that the caller has already. */
  readonly from: { readonly stdout: number; readonly stderr: number }
  /** One byte beyond the limit tells that there was more. */
  readonly onStdout: (chunk: Uint8Array) => void | Promise<void>
  readonly onStderr: (chunk: Uint8Array) => void | Promise<void>
  /** Another process has it: no byte is handed over any more, and `follow` rejects with CANCELLED. The command goes on; it is to be left. */
  readonly letGo?: AbortSignal
}

export interface LastingExit extends ProcessExit {
  /** By `kill`, and not by itself. */
  readonly isKilled?: boolean
}

export interface LastingCommand {
  /** Since its start, on a clock that nobody sets. */
  elapsedMs(): number
  /** Since its end was written down; 0 where it has not ended by itself, or nobody can tell. */
  endedAgoMs(): number
  /** Settles with the end of the command, when all of its output has been handed over. */
  follow(options: LastingFollow): Promise<LastingExit>
  /** Ends it with all that it started. May be called at any time and never throws; what has ended by itself before keeps its own end. */
  kill(): void
  /**
   * Another process has it: it goes on, is followed no more, and nothing of it is ours. Instead of `close` and `forget`, which do nothing after
   * it, nor does `kill`.
   */
  leave(): void
  /** Ends what may still run, and takes away what the boundary put into its mounts. How the command ended can still be found. */
  close(): Promise<void>
  /** For when its end is written down elsewhere: takes away all that is left, as soon as it is certain that nothing of it runs. */
  forget(): Promise<void>
}

export interface LastingCommands {
  /**
   * What leads to the mounts of the plan must be the caller's alone. Rejects where nothing has run.
   */
  start(id: SandboxId, plan: Plan, request: LastingRequest): Promise<LastingCommand>
  /** Undefined where nothing is left of it; `unbegun` where it is certain that nothing has run, nor will. */
  find(id: SandboxId): Promise<LastingCommand | 'unbegun' | undefined>
  /** Takes away those of ours and of dead processes, but for these. They are asked for after it has been seen what is there. */
  sweep(keep: () => Promise<ReadonlySet<string>>): Promise<void>
}

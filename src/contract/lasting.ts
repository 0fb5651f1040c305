// Commands that go on when the process that started them dies, where the mechanism can: a later process finds them again under
// the sandbox's id, with their output from any byte on and their true end. One command to a boundary, which ends with it.
import type { Plan, ProcessExit, SpawnRequest } from './backend.ts'
import type { SandboxId } from './ids.ts'

export interface LastingRequest extends Omit<SpawnRequest, 'stdin'> {
  /** What is kept of each output; the rest is drained. */
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
}

export interface LastingFollow {
  /** Bytes that the caller has already. */
  readonly from: { readonly stdout: number; readonly stderr: number }
  /** One byte beyond the limit tells that there was more. */
  readonly onStdout: (chunk: Uint8Array) => void | Promise<void>
  readonly onStderr: (chunk: Uint8Array) => void | Promise<void>
}

export interface LastingCommand {
  /** Since its start, on a clock that nobody sets. */
  elapsedMs(): number
  /** Settles with the end of the command, when all of its output has been handed over. */
  follow(options: LastingFollow): Promise<ProcessExit>
  /** Ends it with all that it started. May be called at any time. */
  kill(): void
  /** Ends what may still run, and takes away what the boundary put into its mounts. How the command ended can still be found. */
  close(): Promise<void>
  /** For when its end is written down elsewhere: takes away all that is left. */
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

// One command in a sandbox. A command that fails is a result, not an exception.
import type { Denial } from './denial.ts'
import type { ExecId } from './ids.ts'
import type { SecretUse } from './vault.ts'

export type Ended =
  | { readonly by: 'exit'; readonly code: number }
  | { readonly by: 'signal'; readonly signal: string }
  | { readonly by: 'timeout'; readonly afterMs: number }
  | { readonly by: 'cancel'; readonly afterMs: number }
  | { readonly by: 'oom' }
  /** Nobody can know how it ended. Never a guess of success or failure. */
  | { readonly by: 'lost'; readonly reason: string }

export interface ExecResult {
  readonly execId: ExecId
  readonly ended: Ended
  /** As a shell would tell it: the code; 128+n for a signal; 124 timeout; 130 cancel; 137 oom; 125 lost. */
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly stdoutBytes: Uint8Array
  readonly stderrBytes: Uint8Array
  /** How much the command wrote in all, kept or not. */
  readonly stdoutTotalBytes: number
  readonly stderrTotalBytes: number
  readonly stdoutTruncated: boolean
  readonly stderrTruncated: boolean
  readonly durationMs: number
  readonly denials: readonly Denial[]
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** For this command alone. Refused unless policy grants each of them. */
  readonly secrets?: readonly SecretUse[]
  readonly timeoutMs?: number
  /** Text, bytes, or a stream. Absent: the command reads end of file at once. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array>
  /** Called with every chunk, before truncation. A returned promise holds the command back. */
  readonly onStdout?: (chunk: Uint8Array) => void | Promise<void>
  readonly onStderr?: (chunk: Uint8Array) => void | Promise<void>
  /** The chunks of onStdout and onStderr are used again as soon as these return, whatever they return. Without it they may be kept;
   * a listener that keeps none spares the memory of a copy of each. */
  readonly lentChunks?: boolean
  /** Keep at most so much of each stream for the result; onStdout and onStderr still get all. Default: the limits of policy. */
  readonly keepBytes?: number
  readonly signal?: AbortSignal
}

// The files that tell one action: action.json, the bytes beside it, and what it changed.
import type { Denial } from '../../contract/denial.ts'
import type { Ended, ExecResult } from '../../contract/exec.ts'
import type { ChangeSet, KeptBytes, RecordedAction } from '../../contract/recorded-action.ts'
import { keep, type Kept } from '../../runs/action-log.ts'
import { fingerprint } from '../../runs/fingerprint.ts'
import type { AskedAction } from './asked-action.ts'
import { keptInput, maxKeptInputBytes } from './input-tap.ts'

interface Output {
  readonly bytes: Uint8Array
  readonly totalBytes: number
}

/** What came of it: an end with outputs, an answer, or a refusal. */
export interface Answered {
  readonly ended: RecordedAction['ended']
  readonly error: string | null
  readonly outputSha256: string | null
  readonly stdout?: Output
  readonly stderr?: Output
  readonly denials?: readonly Denial[]
}

export const answeredByCommand = (result: ExecResult): Answered => ({
  ended: spelt(result.ended),
  error: null,
  outputSha256: null,
  stdout: { bytes: result.stdoutBytes, totalBytes: result.stdoutTotalBytes },
  stderr: { bytes: result.stderrBytes, totalBytes: result.stderrTotalBytes },
  denials: result.denials,
})

/** What `run_shell` and `run_command` answer. */
type CommandAnswer = Pick<
  ExecResult,
  'ended' | 'stdout' | 'stderr' | 'stdoutTotalBytes' | 'stderrTotalBytes' | 'denials'
>

export function answeredByAction(answer: unknown): Answered {
  if (!isCommandAnswer(answer)) return { ended: null, error: null, outputSha256: fingerprint(answer) }
  const { ended, stdout, stderr, stdoutTotalBytes, stderrTotalBytes, denials } = answer
  return {
    ended: spelt(ended),
    error: null,
    outputSha256: null,
    stdout: { bytes: Buffer.from(stdout), totalBytes: stdoutTotalBytes },
    stderr: { bytes: Buffer.from(stderr), totalBytes: stderrTotalBytes },
    denials,
  }
}

const isCommandAnswer = (answer: unknown): answer is CommandAnswer =>
  typeof answer === 'object' && answer !== null && 'ended' in answer && 'stdout' in answer && 'stderr' in answer

function spelt(ended: Ended): RecordedAction['ended'] {
  if (ended.by === 'timeout' || ended.by === 'cancel') return { by: ended.by, after_ms: Math.round(ended.afterMs) }
  return ended
}

export interface ToldAction {
  readonly asked: AskedAction
  readonly answered: Answered
  readonly number: number
  readonly startedAt: string
  readonly durationMs: number
  readonly changes: ChangeSet | undefined
}

export function filesOf(told: ToldAction): Readonly<Record<string, Kept>> {
  const { asked, answered, changes } = told
  const isRefused = answered.error !== null
  const files: Record<string, Kept> = {}
  const beside = (name: string, output: Output | undefined): KeptBytes | null => {
    if (output === undefined || isRefused) return null
    const kept = keep(output.bytes)
    // Each file costs the disk as much as the exec itself; of no bytes action.json tells all there is.
    if (output.bytes.length > 0) files[name] = kept
    return { bytes: output.totalBytes, kept_bytes: output.bytes.length, sha256: kept.sha256 }
  }
  const record: RecordedAction = {
    number: told.number,
    action: asked.action,
    input: asked.input,
    env_names: [...asked.envNames],
    stdin: beside('stdin', asked.stdin === undefined ? undefined : keptInput(asked.stdin)),
    content: beside('content', asked.content === undefined ? undefined : bounded(asked.content)),
    started_at: told.startedAt,
    duration_ms: told.durationMs,
    ended: answered.ended,
    stdout: beside('stdout', answered.stdout),
    stderr: beside('stderr', answered.stderr),
    output_sha256: answered.outputSha256,
    error: answered.error,
  }
  // A refused action has changed nothing; one that broke off on its way may have.
  if (changes !== undefined && !(isRefused && changes.changes.length === 0)) files['changes.json'] = json(changes)
  files['action.json'] = json(record)
  return files
}

const bounded = (bytes: Uint8Array): Output => ({
  bytes: bytes.subarray(0, maxKeptInputBytes),
  totalBytes: bytes.length,
})

const json = (value: unknown): Kept => keep(Buffer.from(`${JSON.stringify(value, null, 2)}\n`))

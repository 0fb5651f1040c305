// One exec from request to result: limits checked, process followed, output told as text, refusals told as values.
import { constants } from 'node:os'
import type { Boundary, Plan } from '../contract/backend.ts'
import type { Ended, ExecResult, RunOptions } from '../contract/exec.ts'
import { newExecId, type ExecId } from '../contract/ids.ts'
import type { GuestPath } from '../contract/mount.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import type { Redactor } from '../contract/redaction.ts'
import { GloveboxError } from '../errors/error.ts'
import { observeDenials } from '../policy/denials.ts'
import { checkEnvironment } from '../policy/environment.ts'
import { execLimits } from '../policy/request.ts'
import { collect, type Collected } from '../process/collect.ts'
import { cwdChecker } from './cwd.ts'
import { asHostFault } from './host-fault.ts'
import type { Secrets } from './secrets.ts'

export interface Execution {
  readonly plan: Plan
  readonly resolved: ResolvedPolicy
  readonly boundary: Boundary
  readonly secrets: Secrets
}

export type Executor = (argv: readonly [string, ...string[]], options: RunOptions) => Promise<ExecResult>

export function createExecutor({ plan, resolved, boundary, secrets }: Execution): Executor {
  const checkCwd = cwdChecker(plan, boundary)

  return async (argv, options) => {
    checkArguments(argv)
    checkEnvironment(options.env ?? {})
    const limits = execLimits(resolved, options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs })
    const cwd = await checkCwd(options.cwd)
    if (options.signal?.aborted === true)
      throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
    const stdin = options.stdin === undefined ? 'none' : 'pipe'
    const env = options.env ?? {}
    const handed = await secrets.handOver(options.secrets, { resolved, taken: env, signal: options.signal })
    if (handed !== undefined) checkEnvironment({ ...env, ...handed.env })
    const request = { argv, cwd, env, stdin, ...(handed === undefined ? {} : { secrets: handed }) } as const
    const startedAt = process.hrtime()
    const child = await boundary.spawn(request).catch((error: unknown) => {
      throw asHostFault(error, 'run the command')
    })
    // While the command runs: there is time now, and at its end somebody waits.
    const execId = newExecId()
    const redact = (): Redactor => secrets.redaction.open()
    const collected = await collect(child, {
      ...limits,
      ...options,
      startedAt,
      timeoutMs: limits.timeoutMs,
      redact,
    })
    if (collected.setupFailed !== undefined) throw boundaryFailed(plan.backend, collected.setupFailed, collected)
    return toResult(collected, plan, { execId, cwd })
  }
}

export function checkArguments(argv: readonly string[]): void {
  const [program] = argv
  if (program === undefined || program === '')
    throw new GloveboxError('INVALID_INPUT', 'Cannot run the command: it is empty', { hint: 'Name a program.' })
  // A shell on the way would take it for an option of its own.
  if (program.startsWith('-'))
    throw new GloveboxError('INVALID_INPUT', 'Cannot run the command: its name begins with "-"', {
      hint: 'Write ./ before it.',
    })
  const bad = argv.findIndex((argument) => typeof argument !== 'string' || argument.includes('\0'))
  if (bad >= 0)
    throw new GloveboxError('INVALID_INPUT', `Cannot run the command: argument ${bad} has a NUL byte or is no text`)
  // The kernel takes no single argument above 128 KiB.
  const long = argv.findIndex((argument) => Buffer.byteLength(argument) >= 131_072)
  if (long >= 0)
    throw new GloveboxError('TOO_LARGE', `Cannot run the command: argument ${long} is longer than 128 KiB`, {
      hint: 'Write it into a file, or pass it on standard input.',
    })
}

export function boundaryFailed(backend: string, reason: string, collected: Pick<Collected, 'stderr'>): GloveboxError {
  const said = Buffer.from(collected.stderr.bytes).toString('utf8').trim()
  if (reason === cwdGone || said.startsWith("bwrap: Can't chdir to ")) return withoutCwd()
  return new GloveboxError('BOUNDARY_FAILED', `Cannot run the command: ${backend} could not set up the boundary`, {
    hint: 'Nothing has run. `glovebox doctor` tells what is wrong with the backend.',
    operatorDetail: said === '' ? reason : `${reason}: ${said}`,
  })
}

/** As the keepers of bwrap and docker say it. A guest can remove a directory, or leave a link to nowhere: that is no fault of the host. */
const cwdGone = 'the working directory cannot be entered'

const withoutCwd = (): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot run the command: its working directory is gone, or cannot be entered', {
    hint: 'Nothing has run. Choose a directory that is there.',
  })

export function toResult(
  collected: Collected,
  plan: Plan,
  { execId, cwd }: { readonly execId: ExecId; readonly cwd: GuestPath },
): ExecResult {
  const { ended, stdout, stderr, durationMs } = collected
  const stderrText = decode(stderr.bytes, stderr.truncated)
  return {
    execId,
    ended,
    exitCode: exitCodeOf(ended),
    stdout: decode(stdout.bytes, stdout.truncated),
    stderr: stderrText,
    stdoutBytes: stdout.bytes,
    stderrBytes: stderr.bytes,
    stdoutTotalBytes: stdout.totalBytes,
    stderrTotalBytes: stderr.totalBytes,
    stdoutTruncated: stdout.truncated,
    stderrTruncated: stderr.truncated,
    durationMs,
    denials: observeDenials({
      backend: plan.backend,
      stderr: stderrText,
      mounts: plan.spec.mounts,
      policy: plan.spec.policy,
      cwd,
      enforced: plan.enforced,
    }),
  }
}

/** A cut in the middle of a character leaves the character out; anything else that is no UTF-8 is shown as U+FFFD. */
const decode = (bytes: Uint8Array, truncated: boolean): string =>
  bytes.length === 0 ? '' : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: truncated })

export function exitCodeOf(ended: Ended): number {
  switch (ended.by) {
    case 'exit':
      return ended.code
    case 'signal':
      return 128 + ((constants.signals as Record<string, number>)[ended.signal] ?? (Number(ended.signal.slice(3)) || 0))
    case 'timeout':
      return 124
    case 'cancel':
      return 130
    case 'oom':
      return 137
    case 'lost':
      return 125
  }
}

// `glovebox exec`: one command in a new sandbox, its output as it comes, its exit code as ours.
import type { ExecResult } from '../../contract/exec.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { createSandbox } from '../../runtime/create.ts'
import { serverAsked } from '../../runtime/remote.ts'
import { exitCodeForResult } from '../exit.ts'
import type { SandboxFlags } from '../flags.ts'
import { jsonLine } from '../output.ts'
import type { Doing } from '../program.ts'
import { remarks, type Shown } from '../remarks.ts'
import { requestFrom } from '../request.ts'
import { type Interrupts, watchInterrupts } from '../signals.ts'
import type { Sink } from '../sink.ts'
import { pipedInput } from '../stdin.ts'
import { boundedStream } from '../stream.ts'

export async function exec(argv: readonly string[], flags: SandboxFlags, doing: Doing): Promise<number> {
  const [program, ...rest] = argv
  if (program === undefined) throw noCommand()
  const interrupts = watchInterrupts()
  try {
    const sandbox = await openSandbox(flags, doing)
    try {
      return await runAndReport(sandbox, [program, ...rest], { flags, doing, interrupts })
    } finally {
      await sandbox.kill()
    }
  } finally {
    interrupts.stop()
  }
}

/** Here, or where a server is. */
async function openSandbox(flags: SandboxFlags, doing: Doing): Promise<Sandbox> {
  if (serverAsked(flags) !== undefined) return (await import('./remote/sandbox.ts')).createRemoteSandbox(flags, doing)
  return createSandbox({ ...(await requestFrom(flags, doing.directory)), ownsProcess: true })
}

interface Running {
  readonly flags: SandboxFlags
  readonly doing: Doing
  readonly interrupts: Interrupts
}

async function runAndReport(sandbox: Sandbox, argv: readonly [string, ...string[]], running: Running): Promise<number> {
  const { face } = running.doing
  const result = await run(sandbox, argv, running)
  if (running.flags.json === true) await face.out.write(jsonLine(asJson(sandbox, result)))
  else for (const line of remarks(result, argv, shownOf(sandbox, face.out))) await face.err.write(`${line}\n`)
  const { received } = running.interrupts
  return exitCodeForResult(result, { signal: received, readerGone: !face.out.open })
}

function run(sandbox: Sandbox, argv: readonly [string, ...string[]], running: Running): Promise<ExecResult> {
  const stdin = pipedInput()
  const { secret: secrets } = running.flags
  const options = {
    signal: running.interrupts.signal,
    ...(stdin === undefined ? {} : { stdin }),
    ...(secrets === undefined ? {} : { secrets }),
  }
  if (running.flags.json === true) return sandbox.commands.run(argv, options)
  const { out, err } = running.doing.face
  const limit = (field: string): number => limitOf(sandbox, field)
  // A reader that went away wants no more, as with `yes | head`; the command need not run on for nobody.
  const onGone = (): void => running.interrupts.abort()
  return sandbox.commands.run(argv, {
    ...options,
    onStdout: boundedStream(out, { maxBytes: limit('maxStdoutBytes'), onGone }),
    onStderr: boundedStream(err, { maxBytes: limit('maxStderrBytes') }),
    lentChunks: true,
    // It has been printed; only refusals are still looked for in what is kept.
    keepBytes: 1024 * 1024,
  })
}

const shownOf = (sandbox: Sandbox, out: Sink): Shown => ({
  stdout: out.open ? limitOf(sandbox, 'maxStdoutBytes') : undefined,
  stderr: limitOf(sandbox, 'maxStderrBytes'),
})

function limitOf(sandbox: Sandbox, field: string): number {
  const value = sandbox.describe().policy.find((explained) => explained.field === field)?.value
  if (typeof value !== 'number')
    throw new GloveboxError('INTERNAL', `Cannot stream the output: no ${field} is in force.`)
  return value
}

function asJson(sandbox: Sandbox, result: ExecResult): unknown {
  const { id, backend, enforced, notEnforced } = sandbox.describe()
  const { ended, exitCode, stdout, stderr, stdoutTruncated, stderrTruncated, durationMs, denials } = result
  return {
    ended,
    exitCode,
    stdout,
    stderr,
    stdoutTruncated,
    stderrTruncated,
    durationMs,
    denials,
    sandbox: { id, backend, enforced, notEnforced },
  }
}

const noCommand = (): GloveboxError =>
  new GloveboxError('INVALID_INPUT', 'Cannot run: no command was given.', {
    hint: 'Write it after "--", for example: glovebox exec -- ls -la',
  })

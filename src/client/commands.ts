// `sandbox.commands` from afar. A command is begun by one request that is never repeated; from then on it lives on the server,
// and its output is followed over as many connections as it takes, every byte once. Cancelling ends it there, tree and all.
// When the server cannot be reached any more, or has forgotten it, the result is `lost`: nobody can know.
import type { ExecResult, RunOptions } from '../contract/exec.ts'
import type { ExecId } from '../contract/ids.ts'
import type { SandboxCommands } from '../contract/sandbox.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { fromBase64 } from './base64.ts'
import { createCapture, textOf, type Capture } from './capture.ts'
import { eventStream, followEvents } from './follow.ts'
import type { Server } from './server.ts'
import type { ServerEvent } from './sse.ts'
import { carriedInput } from './stdin.ts'

type Command = Parameters<SandboxCommands['run']>[0]

/** What the last event tells: the result without the output, which came before. */
type Ending = Omit<ExecResult, 'stdout' | 'stderr' | 'stdoutBytes' | 'stderrBytes'>

const doing = 'run the command'

export async function runCommand(
  server: Server,
  sandboxPath: string,
  command: Command,
  options: RunOptions,
): Promise<ExecResult> {
  const { cwd, env, secrets, timeoutMs, signal } = options
  const input = await carriedInput(options)
  if (signal?.aborted === true)
    throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
  // The caller's signal does not end this request: without its answer nobody could say which command to end.
  const opened = await server.open({
    method: 'POST',
    path: `${sandboxPath}/commands`,
    doing,
    json: { command, cwd, env, secrets, timeoutMs, ...input },
    accept: eventStream,
  })
  if ('error' in opened) throw opened.error
  const location = opened.value.headers.get('location') ?? ''
  const execId = execIdIn(location, sandboxPath)
  return followCommand(server, { path: `${sandboxPath}/commands/${execId}`, execId, first: opened.value }, options)
}

function execIdIn(location: string, sandboxPath: string): ExecId {
  const prefix = `${sandboxPath}/commands/`
  const [, execId] = /^(exec_[0-9a-z]{8,64})\/events$/.exec(location.slice(prefix.length)) ?? []
  if (location.startsWith(prefix) && execId !== undefined) return execId as ExecId
  throw new GloveboxError('UNEXPECTED_ANSWER', 'Cannot follow the command: the server does not say where it is')
}

export interface Begun {
  readonly path: string
  readonly execId: ExecId
  readonly first: Response
}

/** To its end, over as many connections as it takes. */
export async function followCommand(
  server: Server,
  { path, execId, first }: Begun,
  options: RunOptions,
): Promise<ExecResult> {
  const begunAt = performance.now()
  const output = { stdout: createCapture(options.keepBytes), stderr: createCapture(options.keepBytes) }
  const ending = watchEnding(server, path, options.signal)
  let fault: { readonly thrown: unknown } | undefined
  try {
    const isLast = ({ event }: ServerEvent): boolean => event === 'ended'
    for await (const event of followEvents(server, { path: `${path}/events`, doing, isLast, first })) {
      if (isLast(event)) {
        if (fault !== undefined) throw fault.thrown
        return resultOf(JSON.parse(event.data) as Ending, output)
      }
      const chunk = takeOutput(event, output)
      if (chunk === undefined || fault !== undefined) continue
      try {
        await (event.event === 'stdout' ? options.onStdout : options.onStderr)?.(chunk)
      } catch (thrown) {
        // As in the library: a reader that fails ends the command, and hears of its own fault.
        fault = { thrown }
        ending.cancel()
      }
    }
    throw new GloveboxError('UNEXPECTED_ANSWER', 'Cannot follow the command: its events ended without an end')
  } catch (error) {
    if (fault !== undefined) throw fault.thrown
    if (!isLoss(error)) throw error
    const durationMs = Math.round(performance.now() - begunAt)
    return resultOf(lostEnding(execId, error.message, durationMs, output), output)
  } finally {
    ending.stop()
  }
}

type Output = Readonly<Record<'stdout' | 'stderr', Capture>>

/** The id of an event is how much of each output there is with it, so a gap or a repetition cannot go unseen. */
function takeOutput({ event, data, id }: ServerEvent, output: Output): Uint8Array | undefined {
  if (event !== 'stdout' && event !== 'stderr') return undefined
  const piece = JSON.parse(data) as { readonly text?: string; readonly base64?: string }
  const chunk = piece.base64 === undefined ? new TextEncoder().encode(piece.text ?? '') : fromBase64(piece.base64)
  output[event].add(chunk)
  const at = `${output.stdout.totalBytes}.${output.stderr.totalBytes}`
  if (id === at) return chunk
  throw new GloveboxError('UNEXPECTED_ANSWER', `Cannot follow the command: its output is at ${id}, and ${at} has come`)
}

function resultOf(ending: Ending, { stdout, stderr }: Output): ExecResult {
  const stdoutBytes = stdout.bytes()
  const stderrBytes = stderr.bytes()
  return {
    ...ending,
    stdout: textOf(stdoutBytes, ending.stdoutTruncated),
    stderr: textOf(stderrBytes, ending.stderrTruncated),
    stdoutBytes,
    stderrBytes,
  }
}

const lostEnding = (execId: ExecId, reason: string, durationMs: number, { stdout, stderr }: Output): Ending => ({
  execId,
  ended: { by: 'lost', reason },
  exitCode: 125,
  stdoutTotalBytes: stdout.totalBytes,
  stderrTotalBytes: stderr.totalBytes,
  stdoutTruncated: false,
  stderrTruncated: false,
  durationMs,
  denials: [],
})

/** The server is out of reach, or knows neither the command nor its sandbox any more. */
const isLoss = (error: unknown): error is GloveboxError =>
  isGloveboxError(error) &&
  (error.code === 'SERVER_UNREACHABLE' ||
    (error.code === 'NOT_FOUND' && ['command', 'sandbox', 'shell'].includes(String(error.facts['what']))))

/** Ends the command with the caller's signal. Its result then tells that it was cancelled, or that it had ended before. */
function watchEnding(server: Server, path: string, signal: AbortSignal | undefined) {
  const cancel = (): void => {
    server.json({ method: 'DELETE', path, doing: 'cancel the command' }).catch(() => {
      // What came of the command is told by its events.
    })
  }
  if (signal?.aborted === true) cancel()
  else signal?.addEventListener('abort', cancel, { once: true })
  return { cancel, stop: () => signal?.removeEventListener('abort', cancel) }
}

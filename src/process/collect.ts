// Follows one process of a sandbox to its end: feeds its input, bounds its output, watches deadline and
// cancellation, and tells how it ended. It works on the contract's Process, so it serves every backend.
import type { Readable, Writable } from 'node:stream'
import type { Process, ProcessExit } from '../contract/backend.ts'
import type { Ended, RunOptions } from '../contract/exec.ts'
import type { Redactor } from '../contract/redaction.ts'
import { createCapture, type Capture } from './capture.ts'
import { readDeadline } from './deadline.ts'
import { takeAll } from './taker.ts'

export interface CollectOptions extends Pick<
  RunOptions,
  'stdin' | 'onStdout' | 'onStderr' | 'lentChunks' | 'keepBytes' | 'signal'
> {
  /** When it was asked for, by `process.hrtime`: a process may have begun before whoever started it is told. Default: now. */
  readonly startedAt?: [number, number]
  readonly timeoutMs: number
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
  /** One for each output. What it lets pass is all that anybody sees. */
  readonly redact?: () => Redactor
}

export interface Collected {
  readonly ended: Ended
  /** Set when the boundary failed before the command began. */
  readonly setupFailed?: string
  readonly stdout: ReturnType<Capture['result']>
  readonly stderr: ReturnType<Capture['result']>
  readonly durationMs: number
}

export async function collect(child: Process, options: CollectOptions): Promise<Collected> {
  // Not `performance`, for which Node loads a dozen modules at its first use.
  const startedAt = options.startedAt ?? process.hrtime()
  const elapsed = (): number => {
    const [seconds, nanoseconds] = process.hrtime(startedAt)
    return Math.round(seconds * 1000 + nanoseconds / 1e6)
  }
  const deadline = readDeadline(options.timeoutMs, options.signal, () => child.kill())
  const stdout = createCapture(options.maxStdoutBytes, options.keepBytes)
  const stderr = createCapture(options.maxStderrBytes, options.keepBytes)
  let consumerFault: unknown
  const onFault = (fault: unknown): void => {
    consumerFault ??= { fault }
    child.kill()
  }
  const draining = (): Pick<Draining, 'keepsChunks' | 'redactor' | 'onFault'> => ({
    keepsChunks: options.lentChunks !== true,
    redactor: options.redact?.(),
    onFault,
  })
  try {
    const drained = Promise.all([
      drain(child.stdout, { capture: stdout, consumer: options.onStdout, ...draining() }),
      drain(child.stderr, { capture: stderr, consumer: options.onStderr, ...draining() }),
    ])
    void feed(child.stdin, options.stdin, onFault)
    const exit = await child.exit
    await drained
    if (consumerFault !== undefined) throw (consumerFault as { fault: unknown }).fault
    return {
      ended: howItEnded(exit, deadline.fired(), elapsed()),
      ...(exit.setupFailed === undefined || deadline.fired() !== undefined ? {} : { setupFailed: exit.setupFailed }),
      stdout: stdout.result(),
      stderr: stderr.result(),
      durationMs: elapsed(),
    }
  } finally {
    deadline.clear()
  }
}

export function howItEnded(exit: ProcessExit, fired: 'timeout' | 'cancel' | undefined, afterMs: number): Ended {
  if (fired !== undefined && exit.code === undefined) return { by: fired, afterMs }
  if (exit.oomKilled === true && (exit.signal === 'SIGKILL' || exit.code === 137)) return { by: 'oom' }
  if (exit.signal !== undefined) return { by: 'signal', signal: exit.signal }
  if (exit.code !== undefined) return { by: 'exit', code: exit.code }
  return { by: 'lost', reason: exit.lost ?? exit.setupFailed ?? 'the mechanism did not say' }
}

interface Draining {
  readonly capture: Capture
  readonly consumer: ((chunk: Uint8Array) => void | Promise<void>) | undefined
  /** The consumer may keep what it is given, so it is given no chunk that is lent. */
  readonly keepsChunks: boolean
  readonly redactor: Redactor | undefined
  readonly onFault: (fault: unknown) => void
}

async function drain(stream: Readable, draining: Draining): Promise<void> {
  const { capture, keepsChunks, redactor } = draining
  let listening = draining.consumer
  // The stream is still drained, so that the process can die and its pipes close.
  const stop = (fault: unknown): void => {
    listening = undefined
    draining.onFault(fault)
  }
  const pass = (chunk: Uint8Array, isLent: boolean): void | Promise<void> => {
    if (chunk.length === 0) return undefined
    capture.add(chunk)
    if (listening === undefined) return undefined
    try {
      return listening(isLent && keepsChunks ? Buffer.from(chunk) : chunk)?.catch(stop)
    } catch (fault) {
      return stop(fault)
    }
  }
  await takeAll(stream, (chunk, isLent) => {
    if (redactor === undefined) return pass(chunk, isLent)
    const passed = redactor.push(chunk)
    return pass(passed, isLent && passed === chunk)
  })
  if (redactor !== undefined) await pass(redactor.end(), false)
}

/** A command may end without reading its input; a broken pipe is then the normal end of feeding. */
async function feed(
  stdin: Writable | null,
  source: RunOptions['stdin'],
  onFault: (fault: unknown) => void,
): Promise<void> {
  if (stdin === null) return
  stdin.on('error', () => {})
  if (source === undefined || typeof source === 'string' || source instanceof Uint8Array) {
    stdin.end(source ?? '')
    return
  }
  const iterator = source[Symbol.asyncIterator]()
  const closed = new Promise<undefined>((resolve) => stdin.once('close', () => resolve(undefined)))
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), closed])
      if (next === undefined || stdin.destroyed) break
      if (next.done === true) break
      if (!stdin.write(next.value)) await Promise.race([drainOf(stdin), closed])
    }
    stdin.end()
  } catch (fault) {
    stdin.destroy()
    onFault(fault)
  } finally {
    void iterator.return?.()?.catch(() => {})
  }
}

const drainOf = (stream: Writable): Promise<void> => new Promise((resolve) => stream.once('drain', () => resolve()))

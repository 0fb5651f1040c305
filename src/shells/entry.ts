// One command in a shell's queue, from the call to its result: what it may use, what it has said so far, and who waits for it.
import type { ShellId } from '../contract/ids.ts'
import type { Redactor } from '../contract/redaction.ts'
import type { ShellExecOptions, ShellInfo, ShellProgress, ShellResult, ShellWaited } from '../contract/shell.ts'
import { GloveboxError } from '../errors/error.ts'
import { createCapture, type Capture } from '../process/capture.ts'

export interface CommandLimits {
  readonly timeoutMs: number
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
}

export interface EntryParts {
  readonly id: ShellId
  readonly number: number
  readonly command: string
  /** What the shell is handed. */
  readonly text: string
  readonly limits: CommandLimits
  readonly options: ShellExecOptions
  /** One for each output. What it lets pass is all that anybody sees. */
  readonly redact: () => Redactor
}

export interface Entry extends EntryParts {
  readonly stdout: Capture
  readonly stderr: Capture
  /** Refuses one that was cancelled while it waited; from now on its time counts. */
  requireWanted(): void
  follow(result: Promise<ShellResult>): void
  isOver(): boolean
  told(): NonNullable<ShellInfo['current']>
  wait(waitMs: number, signal: AbortSignal | undefined): Promise<ShellWaited>
}

// setTimeout keeps 31 bits; a longer wait would fire at once.
const longestTimerMs = 2 ** 31 - 1

export function openEntry(parts: EntryParts): Entry {
  const { id, number, command, limits, options } = parts
  const stdout = createCapture(limits.maxStdoutBytes, options.keepBytes)
  const stderr = createCapture(limits.maxStderrBytes, options.keepBytes)
  let startedMs: number | undefined
  let result: Promise<ShellResult> | undefined
  let isOver = false

  const elapsedMs = (): number => (startedMs === undefined ? 0 : Math.round(performance.now() - startedMs))
  const progress = (): ShellProgress => {
    const [out, err] = [stdout.result(), stderr.result()]
    return {
      shellId: id,
      number,
      command,
      started: startedMs !== undefined,
      elapsedMs: elapsedMs(),
      stdout: headOf(out.bytes),
      stderr: headOf(err.bytes),
      stdoutTotalBytes: out.totalBytes,
      stderrTotalBytes: err.totalBytes,
    }
  }

  return {
    ...parts,
    stdout,
    stderr,
    requireWanted() {
      if (options.signal?.aborted === true)
        throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
      startedMs = performance.now()
    },
    follow(promised) {
      result = promised
      const over = (): void => {
        isOver = true
      }
      promised.then(over, over)
    },
    isOver: () => isOver,
    told: () => ({ number, command, elapsedMs: elapsedMs() }),
    async wait(waitMs, signal) {
      const ended = await firstOf(result as Promise<ShellResult>, waitMs, signal)
      return ended === undefined ? { done: false, progress: progress() } : { done: true, result: ended }
    },
  }
}

async function firstOf<T>(promised: Promise<T>, waitMs: number, signal?: AbortSignal): Promise<T | undefined> {
  let stop = (): void => {}
  const over = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.min(waitMs, longestTimerMs))
    const onAbort = (): void => resolve(undefined)
    if (signal?.aborted === true) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    stop = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  })
  try {
    return await Promise.race([promised, over])
  } finally {
    stop()
  }
}

/** What is cut within a character is shown once the rest of it is here. */
const headOf = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })

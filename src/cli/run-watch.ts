// What a person sees of a run while it goes on: its output as it comes, and on a terminal each tool that is called. In a
// pipe there is only the output.
import type { RunEvent } from '../contract/event.ts'
import type { Progress } from '../contract/executor.ts'
import type { RunWatching } from '../runtime/runs/request.ts'
import { printable } from './output.ts'
import { putQuestion } from './run-answer.ts'
import type { Sink } from './sink.ts'
import { boundedStream } from './stream.ts'
import { formatBytes } from './units.ts'

export type Watcher = Pick<RunWatching, 'onEvent' | 'onProgress' | 'onQuestion'>

export interface WatchOptions {
  readonly out: Sink
  readonly err: Sink
  readonly limits: { readonly maxStdoutBytes: number; readonly maxStderrBytes: number }
  /** The reader of our output went away. */
  readonly onGone: () => void
}

/** What a person sees, and what they should know at the end about what they did not. */
export interface Shown extends Watcher {
  remarks(): readonly string[]
}

const maxAbout = 120

export function watchRun({ out, err, limits, onGone }: WatchOptions): Shown {
  const stdout = boundedStream(out, { maxBytes: limits.maxStdoutBytes, onGone })
  const stderr = boundedStream(err, { maxBytes: limits.maxStderrBytes })
  const said = { stdout: 0, stderr: 0 }
  const line = (text: string): void => {
    if (err.isTerminal) void err.write(`${printable(text)}\n`)
  }
  const show = (stream: 'stdout' | 'stderr', chunk: Uint8Array): void => {
    said[stream] += chunk.length
    void (stream === 'stdout' ? stdout : stderr)(chunk)
  }
  return {
    onEvent(event) {
      if (event.type === 'run_created') line(`glovebox: run ${event.run_id}`)
      for (const text of denialLines(event)) void err.write(`${printable(text)}\n`)
    },
    onProgress(progress: Progress) {
      switch (progress.kind) {
        case 'stdout':
        case 'stderr':
          return show(progress.kind, progress.chunk)
        case 'text':
          return show('stdout', Buffer.from(progress.text))
        case 'tool_started':
          return line(`→ ${progress.tool} ${shortened(progress.about)}`)
        case 'tool_ended':
          return progress.ok ? undefined : line(`✗ ${progress.tool} ${shortened(progress.about)}`)
      }
    },
    onQuestion: (asked) => putQuestion(asked, err),
    remarks: () => [
      ...cutLine('stdout', said.stdout, out.open ? limits.maxStdoutBytes : Infinity),
      ...cutLine('stderr', said.stderr, limits.maxStderrBytes),
    ],
  }
}

const cutLine = (stream: string, total: number, shown: number): readonly string[] =>
  total > shown ? [`glovebox: ${stream} was cut: ${formatBytes(shown)} of ${formatBytes(total)} are shown.`] : []

function denialLines({ type, data }: RunEvent): readonly string[] {
  const denials = type === 'action_ended' && Array.isArray(data['denials']) ? data['denials'] : []
  return denials.map((denial) => {
    const { kind, subject, rule, reason } = denial as Record<string, string>
    return `glovebox: denied ${kind} ${subject} (${rule}): ${reason}`
  })
}

const shortened = (text: string): string => (text.length > maxAbout ? `${text.slice(0, maxAbout - 1)}…` : text)

// Runs the search program inside the sandbox and reads its output as it comes. Matching is linear in time and
// happens in the guest: no pattern is ever tried on this side.
import type { ActionContext } from '../../contract/action.ts'
import type { ExecResult, RunOptions } from '../../contract/exec.ts'
import { GloveboxError } from '../../errors/error.ts'
import { recordReader, type RecordOptions } from './records.ts'
import type { SearchRoot } from './root.ts'

export interface SearchRun {
  readonly root: SearchRoot
  readonly arguments: readonly string[]
  readonly output: Omit<RecordOptions, 'take'>
  /** Returns false when enough has been seen: the program then gets a moment to come to its end, and is ended. */
  readonly take: (record: Buffer) => boolean
  readonly stderrLine?: (line: string) => void
  readonly stdin?: RunOptions['stdin']
  readonly signal: AbortSignal | undefined
}

export interface SearchEnd {
  readonly stopped: boolean
  readonly result: ExecResult
}

/** SECURITY: no configuration file and no ignore file of the guest decides what a search sees, no link is
 * followed out of the root. test/attacks/actions: "a search does not follow a symlink out of its root" */
export const fixedArguments = ['--no-config', '--hidden', '--no-ignore', '--no-follow', '--color=never'] as const

const newline = 0x0a
const maxDiagnosticBytes = 16 * 1024
/** A command that is ended by force may take its boundary with it, and a new one costs more than the end of most searches. */
const patienceMs = 20

export async function runSearch(context: ActionContext, run: SearchRun): Promise<SearchEnd> {
  const enough = new AbortController()
  let ending: NodeJS.Timeout | undefined
  let stopped = false
  const stdout = recordReader({
    ...run.output,
    take(record) {
      stopped = !run.take(record)
      if (stopped) ending = setTimeout(() => enough.abort(), patienceMs)
      return !stopped
    },
  })
  const stderr = recordReader({
    separator: newline,
    maxBytes: maxDiagnosticBytes,
    take(record) {
      run.stderrLine?.(record.toString('utf8'))
      return true
    },
  })
  const result = await context
    .run([context.searchProgram, ...run.arguments], {
      cwd: run.root.directory,
      onStdout: (chunk) => stdout.push(chunk),
      onStderr: (chunk) => stderr.push(chunk),
      signal: run.signal === undefined ? enough.signal : AbortSignal.any([run.signal, enough.signal]),
      ...(run.stdin === undefined ? {} : { stdin: run.stdin }),
    })
    .finally(() => clearTimeout(ending))
  if (!stopped) {
    stdout.end()
    stderr.end()
    refuseUnfinished(result, run.root)
  }
  return { stopped, result }
}

function refuseUnfinished({ ended }: ExecResult, { path }: SearchRoot): void {
  const hint = 'Narrow the path or the pattern.'
  switch (ended.by) {
    case 'exit':
      return
    case 'timeout':
      throw new GloveboxError('TIMED_OUT', `Cannot search ${path}: it took longer than ${ended.afterMs} ms`, { hint })
    case 'cancel':
      throw new GloveboxError('CANCELLED', `Cannot search ${path}: the caller cancelled it`)
    case 'oom':
      throw new GloveboxError('TOO_LARGE', `Cannot search ${path}: the search needed more memory than there is`, {
        hint,
      })
    case 'signal':
      throw new GloveboxError('INTERNAL', `Cannot search ${path}: the search program was ended by ${ended.signal}`)
    case 'lost':
      throw new GloveboxError('BOUNDARY_FAILED', `Cannot search ${path}: the search program was lost`, {
        operatorDetail: ended.reason,
      })
  }
}

/** The program's own status: 0 found, 1 not found, 2 an error, which need not have stopped it. */
export function refuseFailed({ result, stopped }: SearchEnd, root: SearchRoot, complaint: string | undefined): void {
  if (stopped || result.exitCode < 2) return
  if (complaint !== undefined) {
    throw new GloveboxError('INVALID_INPUT', `Cannot search ${root.path}: ${complaint}`, {
      hint: 'Patterns are regular expressions without look-around and back-references. For plain text use literal.',
    })
  }
  throw new GloveboxError('INTERNAL', `Cannot search ${root.path}: the search program failed`, {
    operatorDetail: result.stderr.slice(-2000),
  })
}

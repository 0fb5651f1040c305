// The executor that repeats: it is handed the actions of an earlier run, performs them once more, one after another, and
// lays what comes out beside what came out then. The run around it is recorded as any other, so a replay can be verified
// and replayed itself. It never sees the original's directory, and never claims a cause that it did not find.
import type { Assignment, Executor, Outcome } from '../../contract/executor.ts'
import type { KeptAction } from '../../contract/recorded-action.ts'
import { isGloveboxError } from '../../errors/error.ts'
import type { Seen } from './cause.ts'
import { commandOf, compare } from './compare.ts'
import { notSupplied, obstacle, repeat, type Happened } from './repeat.ts'
import { tally, type Comparison } from './report.ts'
import { lineOf, shortened, summaryOf } from './words.ts'

export interface ReplayOptions {
  /** In the order in which they began. */
  readonly actions: AsyncIterable<KeptAction>
  /** Values for variables that the actions had; names without a value here are told as not supplied. */
  readonly env: Readonly<Record<string, string>>
  /** SHA-256 of a value as canonical JSON, the same that the recorder took. */
  readonly fingerprint: (value: unknown) => string
  /** Values that differ, by where they were seen first; artifacts are explained with it later. */
  readonly seen: Seen
  readonly onCompared: (comparison: Comparison) => void
}

const maxAboutCharacters = 200

export function createReplayExecutor(options: ReplayOptions): Executor {
  return {
    name: 'replay',
    execute: async (assignment) => {
      try {
        return await repeatAll(options, assignment)
      } catch (error) {
        if (!isGloveboxError(error)) throw error
        return { status: 'failed', reason: error.code.toLowerCase(), summary: error.message }
      }
    },
  }
}

async function repeatAll(options: ReplayOptions, assignment: Assignment): Promise<Outcome> {
  const done: Comparison[] = []
  for await (const action of options.actions) {
    if (assignment.signal.aborted) return cancelled(done.length)
    const comparison = await repeatOne(action, options, assignment)
    if (comparison === undefined) return cancelled(done.length)
    done.push(comparison)
    options.onCompared(comparison)
    assignment.say(`- ${lineOf(comparison)}\n`)
    if (comparison.result !== 'identical') await note(comparison, assignment)
  }
  const summary = summaryOf(tally(done), 'action')
  assignment.say(`\n${summary}\n`)
  return { status: 'completed', summary }
}

const cancelled = (count: number): Outcome => ({
  status: 'cancelled',
  reason: 'cancelled',
  summary: `The replay was cancelled after ${count} actions.`,
})

/** Undefined when the replay itself was cancelled while the action ran. */
async function repeatOne(
  action: KeptAction,
  options: ReplayOptions,
  { sandbox, signal }: Assignment,
): Promise<Comparison | undefined> {
  const told = {
    number: action.number,
    action: action.action,
    about: aboutOf(action),
    notSupplied: notSupplied(action, options.env),
    overlapped: action.overlaps,
  }
  const reason = obstacle(action)
  if (reason !== undefined) return { ...told, result: 'not_repeated', reason, differences: [], cut: [] }
  const fromMs = Date.now()
  const now = await repeat(action, { sandbox, signal, env: options.env })
  if (signal.aborted && isCancelled(now)) return undefined
  const compared = await compare(action, now, { ...options, notSupplied: told.notSupplied, fromMs, toMs: Date.now() })
  return { ...told, ...compared }
}

const isCancelled = (now: Happened): boolean =>
  (now.kind === 'refused' && now.code === 'CANCELLED') || (now.kind === 'ended' && now.ended.by === 'cancel')

function aboutOf(action: KeptAction): string {
  const { path, pattern, from } = action.input
  const subject = commandOf(action) || [path, pattern, from].find((value) => typeof value === 'string') || ''
  return shortened(subject.replaceAll(/\s+/g, ' '), maxAboutCharacters)
}

async function note(comparison: Comparison, assignment: Assignment): Promise<void> {
  const { number, action, result, reason, differences } = comparison
  await assignment.note({
    type: 'replay_compared',
    actor: 'executor',
    severity: result === 'differs' ? 'warning' : 'info',
    summary: shortened(lineOf(comparison), 900),
    data: {
      number,
      action,
      result,
      reason,
      differences: differences.map(({ part, place, detail, cause }) => ({
        part,
        offset: place?.offset ?? null,
        detail,
        cause: cause === null ? null : { kind: cause.kind, because: shortened(cause.because, 500) },
      })),
    },
  })
}

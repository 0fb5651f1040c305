// A sandbox whose every action is recorded: an event when it begins and one when it has ended, and its files in
// logs/actions/. Promises: nothing is performed whose beginning could not be recorded; an action that was answered has its
// record in the kernel's hands (class D2), a refused one too; numbers follow the order of start; values of environment
// variables are never kept. Nothing here waits for the disk. It must not know who asks, nor how changes are found.
import type { ChangeSet } from '../../contract/recorded-action.ts'
import { actionEnded, actionStarted } from '../../contract/recorded-action.ts'
import type { ExecResult, RunOptions } from '../../contract/exec.ts'
import type { Redaction } from '../../contract/redaction.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import type { ActionLog } from '../../runs/action-log.ts'
import type { Run } from '../../runs/run.ts'
import { sandboxFiles } from '../files.ts'
import { askedAction, askedCommand, shortened, type AskedAction } from './asked-action.ts'
import { answeredByAction, answeredByCommand, filesOf, type Answered } from './action-files.ts'
import { tapInput } from './input-tap.ts'
import { recordedShells } from './recorded-shells.ts'

/** Finds what has changed since it looked last. */
export interface Looking {
  look(options?: { readonly concurrent?: boolean }): Promise<ChangeSet>
}

export interface ActionProgress {
  readonly number: number
  readonly action: string
  readonly about: string
}

export interface RecordingOptions {
  readonly sandbox: Sandbox
  readonly run: Pick<Run, 'append'>
  readonly log: ActionLog
  readonly changes: Looking
  /** Nothing that was asked is kept with a value in it. */
  readonly redaction?: Redaction
  /** Told of an action that begins; what it answers is told of its end. */
  readonly onAction?: (progress: ActionProgress) => (ended: { readonly ok: boolean }) => void
}

export function recordedSandbox(options: RecordingOptions): Sandbox {
  const { sandbox } = options
  const recording = new Recording(options)
  const execute: Sandbox['execute'] = (name, input, callOptions) =>
    recording.perform(askedAction(name, input), () => sandbox.execute(name, input, callOptions), answeredByAction)
  const run = (command: string | readonly [string, ...string[]], runOptions: RunOptions = {}): Promise<ExecResult> => {
    const stdin = tapInput(runOptions.stdin)
    const passed =
      stdin === undefined || stdin instanceof Uint8Array ? runOptions : { ...runOptions, stdin: stdin.source }
    return recording.perform(
      askedCommand(command, runOptions, stdin),
      () => sandbox.commands.run(command, passed),
      answeredByCommand,
    )
  }
  return {
    id: sandbox.id,
    describe: () => sandbox.describe(),
    execute,
    files: sandboxFiles(execute),
    commands: { run },
    shells: recordedShells(sandbox.shells, recording),
    // A record has no words for it, and a replay could not perform it.
    provision: async () => {
      throw new GloveboxError('POLICY_DENIED', 'Cannot provision: the mounts of a run stay as they were recorded', {
        hint: 'Name its mounts and vaults when it starts.',
      })
    },
    catalog: () => sandbox.catalog(),
    kill: () => sandbox.kill(),
    [Symbol.asyncDispose]: () => sandbox.kill(),
  }
}

interface Begun {
  readonly number: number
  readonly startedAt: string
  readonly startedMs: number
  /** Another one that may have changed files was at work at the same time: nobody can tell whose a change is. */
  isConcurrent: boolean
}

class Recording {
  readonly #options: RecordingOptions
  readonly #changing = new Set<Begun>()
  #count = 0
  #looking: Promise<unknown> | undefined

  constructor(options: RecordingOptions) {
    this.#options = options
  }

  async perform<Answer>(
    given: AskedAction,
    effect: () => Promise<Answer>,
    answered: (answer: Answer) => Answered,
  ): Promise<Answer> {
    const asked = redactedAsking(given, this.#options.redaction)
    // What starts while somebody looks would be found by a look that is not its own.
    while (asked.mayChange && this.#looking !== undefined) await this.#looking
    const begun = await this.#begin(asked)
    const tellEnd = this.#options.onAction?.({ number: begun.number, action: asked.action, about: asked.about })
    let isOk = false
    try {
      const outcome = await settled(effect)
      const seen = asked.mayChange ? await this.#look(begun) : undefined
      // A name can be a value, too.
      const changes = seen === undefined ? undefined : (this.#options.redaction?.json(seen) ?? seen)
      await this.#end(asked, begun, 'error' in outcome ? refusedBy(outcome.error) : answered(outcome.answer), changes)
      if ('error' in outcome) throw outcome.error
      isOk = true
      return outcome.answer
    } finally {
      this.#changing.delete(begun)
      tellEnd?.({ ok: isOk })
    }
  }

  async #begin({ action, about, mayChange }: AskedAction): Promise<Begun> {
    const number = ++this.#count
    const begun: Begun = {
      number,
      startedAt: new Date().toISOString(),
      startedMs: performance.now(),
      isConcurrent: mayChange && this.#changing.size > 0,
    }
    if (mayChange) {
      for (const other of this.#changing) other.isConcurrent = true
      this.#changing.add(begun)
    }
    try {
      await this.#options.run.append(
        { type: actionStarted, actor: 'executor', summary: summaryOf(action, about), data: { number, action, about } },
        { durability: 'D2' },
      )
    } catch (error) {
      this.#changing.delete(begun)
      throw error
    }
    return begun
  }

  /** One at a time: a look moves the point from which the next one counts. */
  async #look(begun: Begun): Promise<ChangeSet> {
    while (this.#looking !== undefined) await this.#looking
    const look = this.#options.changes.look({ concurrent: begun.isConcurrent })
    const done = look.then(
      () => {},
      () => {},
    )
    this.#looking = done
    try {
      return await look
    } finally {
      this.#looking = undefined
    }
  }

  async #end(asked: AskedAction, begun: Begun, answered: Answered, changes: ChangeSet | undefined): Promise<void> {
    const { number, startedAt, startedMs } = begun
    const durationMs = Math.max(0, Math.round(performance.now() - startedMs))
    const files = filesOf({ asked, answered, number, startedAt, durationMs, changes })
    this.#options.log.write(number, files)
    const { ended, error } = answered
    await this.#options.run.append(
      {
        type: actionEnded,
        actor: 'executor',
        severity: error === null ? 'info' : 'warning',
        summary: summaryOf(asked.action, asked.about),
        data: {
          number,
          action: asked.action,
          ended,
          error,
          duration_ms: durationMs,
          changes: changes?.changes.length ?? 0,
          denials: toldDenials(answered),
          hashes: Object.fromEntries(Object.entries(files).map(([name, { sha256 }]) => [name, sha256])),
        },
      },
      { durability: 'D2' },
    )
  }
}

function redactedAsking(asked: AskedAction, redaction: Redaction | undefined): AskedAction {
  if (redaction?.isActive !== true) return asked
  const { about, input, content } = asked
  return {
    ...asked,
    about: redaction.text(about),
    input: redaction.json(input),
    ...(content === undefined ? {} : { content: redaction.bytes(content) }),
  }
}

type Outcome<Answer> = { readonly answer: Answer } | { readonly error: unknown }

async function settled<Answer>(effect: () => Promise<Answer>): Promise<Outcome<Answer>> {
  try {
    return { answer: await effect() }
  } catch (error) {
    return { error }
  }
}

const refusedBy = (error: unknown): Answered => ({
  ended: null,
  error: isGloveboxError(error) ? error.code : 'INTERNAL',
  outputSha256: null,
})

const toldAtMost = 5

/** Enough to tell a person what the boundary kept from the command; events are small. */
const toldDenials = ({ denials = [] }: Answered): { kind: string; subject: string; rule: string; reason: string }[] =>
  denials.slice(0, toldAtMost).map(({ kind, subject, rule, reason }) => ({
    kind,
    subject: shortened(subject),
    rule: shortened(rule),
    reason: shortened(reason),
  }))

const summaryOf = (action: string, about: string): string => (about === '' ? action : `${action}: ${about}`)

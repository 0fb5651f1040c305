// One recorded action, performed once more: the same words to the same sandbox in the same place. What was not recorded
// (values of variables, the end of a cut input) is never made up: such an action is not repeated, or says what it lacked.
import type { SecretUse } from '../../contract/vault.ts'
import type { Ended, ExecResult, RunOptions } from '../../contract/exec.ts'
import type { KeptAction, RecordedAction } from '../../contract/recorded-action.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { isGloveboxError } from '../../errors/error.ts'

export interface Output {
  readonly bytes: Uint8Array
  readonly totalBytes: number
}

export type RecordedEnd = NonNullable<RecordedAction['ended']>

export type Happened =
  | { readonly kind: 'ended'; readonly ended: RecordedEnd; readonly stdout: Output; readonly stderr: Output }
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'refused'; readonly code: string }

export interface Repeating {
  readonly sandbox: Sandbox
  readonly signal: AbortSignal
  /** Values for variables that the actions had. */
  readonly env: Readonly<Record<string, string>>
}

/** Refusals that tell of the host or the moment, not of what was asked: nothing of such an action took place. */
const neverBegan: ReadonlySet<string> = new Set([
  'AUDIT_UNAVAILABLE',
  'BACKEND_UNAVAILABLE',
  'BOUNDARY_FAILED',
  'BUSY',
  'CANCELLED',
  'INTERNAL',
  'SANDBOX_GONE',
  'TIMED_OUT',
])
/** Refusals that depend on the content, which is not kept of a refused write. */
const byContent: ReadonlySet<string> = new Set(['INVALID_INPUT', 'NOT_TEXT', 'NO_SPACE', 'TOO_LARGE'])
const writing: ReadonlySet<string> = new Set(['write_text', 'write_bytes', 'append_text'])

/** Why it cannot be repeated as it was; undefined when it can. */
export function obstacle(action: RecordedAction): string | undefined {
  for (const name of ['stdin', 'content'] as const) {
    const kept = action[name]
    if (kept !== null && kept.kept_bytes < kept.bytes) {
      return `only ${kept.kept_bytes} of the ${kept.bytes} bytes of its ${name === 'stdin' ? 'input' : 'content'} were kept`
    }
  }
  const { error } = action
  if (error === null) return undefined
  if (neverBegan.has(error)) return `it was not carried out then (${error})`
  const lacksContent = writing.has(action.action) && action.content === null
  return lacksContent && byContent.has(error) ? `its content was refused (${error}), and so was not kept` : undefined
}

export async function repeat(action: KeptAction, repeating: Repeating): Promise<Happened> {
  try {
    return action.action === 'run' ? await repeatCommand(action, repeating) : await repeatAction(action, repeating)
  } catch (error) {
    if (isGloveboxError(error) && error.code !== 'RECORD_DAMAGED') return { kind: 'refused', code: error.code }
    throw error
  }
}

async function repeatCommand(action: KeptAction, { sandbox, signal, env }: Repeating): Promise<Happened> {
  const { argv, command, cwd, secrets } = action.input
  const timeoutMs = timeoutOf(action)
  const options: RunOptions = {
    signal,
    env: suppliedOf(action, env),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(Array.isArray(secrets) ? { secrets: secrets as readonly SecretUse[] } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(action.stdin === null ? {} : { stdin: await action.files.read('stdin') }),
  }
  const what = typeof command === 'string' ? command : (argv as unknown as readonly [string, ...string[]])
  return happenedBy(await sandbox.commands.run(what, options))
}

/** What a person cancelled is ended after the same time. */
function timeoutOf({ input, ended }: RecordedAction): number | undefined {
  if (ended?.by === 'cancel') return Math.max(1, ended.after_ms)
  return typeof input['timeout_ms'] === 'number' ? input['timeout_ms'] : undefined
}

async function repeatAction(action: KeptAction, { sandbox, signal, env }: Repeating): Promise<Happened> {
  const supplied = suppliedOf(action, env)
  const input = {
    ...action.input,
    ...(await contentOf(action)),
    ...(Object.keys(supplied).length === 0 ? {} : { env: supplied }),
    ...(action.stdin === null ? {} : { stdin: textOf(await action.files.read('stdin')) }),
  }
  const answer = await sandbox.execute(action.action, input, { signal })
  return isCommandAnswer(answer) ? happenedByAnswer(answer) : { kind: 'answered', answer }
}

async function contentOf(action: KeptAction): Promise<Readonly<Record<string, string>>> {
  if (!writing.has(action.action)) return {}
  // Of a refused write the content is not kept; it was refused for its place, and is again, or the report says so.
  const isLacking = action.content === null
  if (isLacking && action.error === null) return {}
  const bytes = isLacking ? new Uint8Array() : await action.files.read('content')
  return action.action === 'write_text' ? { text: textOf(bytes) } : { base64: Buffer.from(bytes).toString('base64') }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

function suppliedOf({ env_names: names }: RecordedAction, env: Repeating['env']): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(env, name) ? [[name, env[name] ?? '']] : [])))
}

export const notSupplied = ({ env_names: names }: RecordedAction, env: Repeating['env']): readonly string[] =>
  names.filter((name) => !Object.hasOwn(env, name))

const happenedBy = (result: ExecResult): Happened => ({
  kind: 'ended',
  ended: spelt(result.ended),
  stdout: { bytes: result.stdoutBytes, totalBytes: result.stdoutTotalBytes },
  stderr: { bytes: result.stderrBytes, totalBytes: result.stderrTotalBytes },
})

type CommandAnswer = Pick<ExecResult, 'ended' | 'stdout' | 'stderr' | 'stdoutTotalBytes' | 'stderrTotalBytes'>

/** The text of an answer is laid beside the text that was answered then: both went the same way from bytes. */
const happenedByAnswer = (answer: CommandAnswer): Happened => ({
  kind: 'ended',
  ended: spelt(answer.ended),
  stdout: { bytes: Buffer.from(answer.stdout), totalBytes: answer.stdoutTotalBytes },
  stderr: { bytes: Buffer.from(answer.stderr), totalBytes: answer.stderrTotalBytes },
})

const isCommandAnswer = (answer: unknown): answer is CommandAnswer =>
  typeof answer === 'object' && answer !== null && 'ended' in answer && 'stdout' in answer && 'stderr' in answer

const spelt = (ended: Ended): RecordedEnd =>
  ended.by === 'timeout' || ended.by === 'cancel' ? { by: ended.by, after_ms: Math.round(ended.afterMs) } : ended

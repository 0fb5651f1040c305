// What was asked of a sandbox, as its record keeps it: without the values of environment variables, and with the bytes
// that are too large for JSON set apart.
import type { RunOptions } from '../../contract/exec.ts'
import type { SecretUse } from '../../contract/vault.ts'
import type { RecordedAction } from '../../contract/recorded-action.ts'
import { maxKeptInputBytes, type InputTap } from './input-tap.ts'

export type RecordedInput = RecordedAction['input']

export interface AskedAction {
  readonly action: string
  /** One line for people. */
  readonly about: string
  readonly input: RecordedInput
  readonly envNames: readonly string[]
  /** May it have changed files? */
  readonly mayChange: boolean
  readonly content?: Uint8Array
  readonly stdin?: Uint8Array | InputTap
}

const maxAboutCharacters = 500
const maxNameCharacters = 100

export function askedCommand(
  command: string | readonly string[],
  { cwd, timeoutMs, env, secrets }: RunOptions,
  stdin: AskedAction['stdin'],
): AskedAction {
  const what: RecordedInput = typeof command === 'string' ? { command } : { argv: [...command] }
  return {
    action: 'run',
    about: shortened(typeof command === 'string' ? command : command.join(' ')),
    // Names, with which a replay asks for them again.
    input: {
      ...what,
      cwd: cwd ?? null,
      timeout_ms: timeoutMs ?? null,
      ...(secrets && { secrets: secretsOf(secrets) }),
    },
    envNames: Object.keys(env ?? {}).toSorted(),
    mayChange: true,
    ...(stdin === undefined ? {} : { stdin }),
  }
}

const secretsOf = (uses: readonly SecretUse[]): RecordedInput[string] =>
  uses.map((use) => (typeof use === 'string' ? use : { ...use }))

/** These only look. An action that is not named here is taken for one that changes something. */
const looking: ReadonlySet<string> = new Set([
  'list_dir',
  'stat',
  'find_entries',
  'glob_entries',
  'grep_text',
  'read_text',
  'read_bytes',
  'run_command',
  'inspect',
  'inspect_persistent_shell',
])

const writing: ReadonlySet<string> = new Set(['write_text', 'write_bytes', 'append_text'])
const telling = ['path', 'command', 'pattern', 'from', 'argv'] as const

/** `input` has not been checked yet: anything may have been asked, and what was refused is recorded too. */
export function askedAction(name: string, input: unknown): AskedAction {
  const fields = isRecord(input) ? input : {}
  const { env, stdin, text, base64, ...rest } = fields
  const content = writing.has(name) ? contentOf(text, base64) : undefined
  const subject = telling.map((field) => fields[field]).find((value) => value !== undefined)
  return {
    action: name.slice(0, maxNameCharacters),
    about: shortened(Array.isArray(subject) ? subject.join(' ') : typeof subject === 'string' ? subject : ''),
    input: asJson(content === undefined ? { text, base64, ...rest } : rest),
    envNames: isRecord(env) ? Object.keys(env).toSorted() : [],
    mayChange: !looking.has(name),
    ...(content === undefined ? {} : { content }),
    ...(typeof stdin === 'string' ? { stdin: Buffer.from(stdin) } : {}),
  }
}

function contentOf(text: unknown, base64: unknown): Uint8Array | undefined {
  if (typeof text === 'string') return Buffer.from(text)
  return typeof base64 === 'string' ? Buffer.from(base64, 'base64') : undefined
}

/** What JSON cannot say was no input of any action, and what is larger than any action takes was refused. */
function asJson(input: Readonly<Record<string, unknown>>): RecordedInput {
  try {
    const text = JSON.stringify(input)
    return text.length > maxKeptInputBytes ? {} : (JSON.parse(text) as RecordedInput)
  } catch {
    return {}
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Half a surrogate pair, as a cut may leave it, has no place in a log. */
export function shortened(text: string): string {
  const cut = text.length <= maxAboutCharacters ? text : `${text.slice(0, maxAboutCharacters - 1)}…`
  return Buffer.from(cut).toString('utf8')
}

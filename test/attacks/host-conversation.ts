// The line to a host process: questions and answers as JSON lines, matched by serial number, so that several commands
// can run at once.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface HostProcess {
  readonly pid: number
  ask<Answer>(operation: string, request: object): Promise<Answer>
  /** Lets it end its sandboxes and exit; killed if it does not. */
  end(): Promise<void>
}

export interface HostStart {
  readonly script: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly id?: number
  readonly group?: number
  readonly inheritDescriptors: readonly number[]
  /** In a mount namespace of its own the process finds `shown` at `at`. Needs root. */
  readonly own?: { readonly shown: string; readonly at: string } | undefined
}

interface ToldError {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly detail?: string
  readonly facts?: Readonly<Record<string, unknown>>
}

/** What the host process refused, with the code of the package's own error. */
export class HostError extends Error {
  override readonly name = 'HostError'
  readonly code: string
  readonly hint: string
  readonly detail: string
  readonly facts: Readonly<Record<string, unknown>>

  constructor(told: ToldError) {
    super(told.message)
    this.code = told.code
    this.hint = told.hint ?? ''
    this.detail = told.detail ?? ''
    this.facts = told.facts ?? {}
  }
}

type Answer =
  | { readonly serial: number; readonly value: unknown }
  | { readonly serial: number; readonly error: ToldError }

const patienceMs = 10_000

/** What starts a program in a mount namespace of its own. */
export const showingElsewhere = ({ shown, at }: NonNullable<HostStart['own']>): readonly string[] => [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount --bind "$0" "$1" && shift && exec "$@"',
  shown,
  at,
]

export function startHostProcess(start: HostStart): HostProcess {
  const { id, group = id, own } = start
  const become = id === undefined ? [] : ['setpriv', `--reuid=${id}`, `--regid=${group}`, '--clear-groups']
  const before = own === undefined ? [] : [...showingElsewhere(own), ...become]
  const command: readonly string[] = [...before, process.execPath, start.script]
  const [program = '', ...words] = command
  const child = spawn(program, words, {
    cwd: start.cwd,
    env: { ...start.env },
    stdio: ['pipe', 'pipe', 'pipe', ...start.inheritDescriptors],
    ...(id === undefined || own !== undefined ? {} : { uid: id, gid: group }),
  })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  const [stdin, stdout, stderr] = [child.stdin, child.stdout, child.stderr]
  if (stdin === null || stdout === null || stderr === null) throw new Error('the host process has no streams')
  let serial = 0
  let said = ''
  let gone: Error | undefined
  stdin.on('error', () => {})
  stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  createInterface({ input: stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as Answer
    const asked = waiting.get(answer.serial)
    waiting.delete(answer.serial)
    if ('error' in answer) asked?.reject(new HostError(answer.error))
    else asked?.resolve(answer.value)
  })
  const onGone = (cause: string): void => {
    gone ??= new Error(`the host process ${cause}: ${said}`)
    for (const asked of waiting.values()) asked.reject(gone)
    waiting.clear()
  }
  child.once('error', (error) => onGone(`could not be started (${error.message})`))
  child.once('close', (code, signal) => onGone(`ended with ${code ?? signal}`))
  return {
    pid: child.pid ?? -1,
    ask: <Value>(operation: string, request: object) =>
      new Promise<Value>((resolve, reject) => {
        if (gone !== undefined) return reject(gone)
        serial += 1
        waiting.set(serial, { resolve: (value) => resolve(value as Value), reject })
        stdin.write(`${JSON.stringify({ serial, operation, ...request })}\n`)
      }),
    async end() {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
      const ended = once(child, 'exit')
      stdin.end()
      const impatience = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      await ended
      clearTimeout(impatience)
    },
  }
}

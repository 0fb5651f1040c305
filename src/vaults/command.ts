// A vault whose values are printed by programs of the operator's: a password manager, a cloud's own tool. They run on the host,
// with the operator's environment and no input, when a command is to have the value.
import { GloveboxError } from '../errors/error.ts'
import type { Spawner } from '../process/spawn.ts'
import type { OperatorEnvironment } from './environment.ts'
import { mostBytes, unavailable, type Source } from './source.ts'

const patienceMs = 30_000

export interface CommandParts {
  readonly operatorEnv: OperatorEnvironment
  /** Opened at the first use. */
  readonly spawner: () => Spawner
}

type Commands = Readonly<Record<string, readonly [string, ...string[]]>>

export const commandSource = (commands: Commands, parts: CommandParts): Source => ({
  kind: 'command',
  names: () => Object.keys(commands).toSorted(),
  async read({ secret, name, signal }) {
    const argv = Object.hasOwn(commands, secret) ? commands[secret] : undefined
    if (argv === undefined) throw unavailable(name, 'no program is named for it')
    return runProgram(argv, { ...parts, name, signal })
  },
})

interface Running extends CommandParts {
  readonly name: string
  readonly signal: AbortSignal | undefined
}

async function runProgram(
  [file, ...args]: readonly [string, ...string[]],
  { name, signal, operatorEnv, spawner }: Running,
): Promise<Uint8Array> {
  const env = Object.fromEntries(
    Object.entries(operatorEnv).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  const child = spawner().spawnChild({ file, args, cwd: '/', env, stdin: 'none', detached: false })
  let isLate = false
  const end = (): void => {
    child.kill('SIGKILL')
    // What it has started may hold them open for as long as it likes.
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
  }
  const deadline = setTimeout(() => {
    isLate = true
    end()
  }, patienceMs)
  signal?.addEventListener('abort', end, { once: true })
  try {
    const [value, said, ended] = await Promise.all([read(child.stdout), read(child.stderr), child.ended])
    const told = ended.error?.message ?? Buffer.from(said.subarray(0, 2048)).toString('utf8').trim()
    if (signal?.aborted === true)
      throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
    if (isLate) throw unavailable(name, `its program did not end within ${patienceMs / 1000} seconds`)
    // What it said may hold the value, so that the operator alone reads it.
    if (ended.error !== undefined || ended.code !== 0) throw unavailable(name, 'its program failed', told)
    if (value.length > mostBytes) throw unavailable(name, `it is larger than ${mostBytes} bytes`)
    return value
  } finally {
    clearTimeout(deadline)
    signal?.removeEventListener('abort', end)
  }
}

/** Drained to its end, so that the program is not held up; what is too much is not kept. */
async function read(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of stream) {
      if (length <= mostBytes) parts.push(Uint8Array.from(chunk))
      length += chunk.length
    }
  } catch {
    // Ended by us: nobody looks at what came before.
  }
  return Buffer.concat(parts)
}

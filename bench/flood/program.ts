// A program of this bench in a process of its own, spoken to by lines.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const runner = fileURLToPath(new URL('../../script/run-typescript.mjs', import.meta.url))

export interface Program extends Disposable {
  readonly pid: number
  say(line: string): void
  /** The next line that it prints. */
  hear(): Promise<string>
  onLine(listener: (line: string) => void): void
}

export interface Start {
  /** Words before Node's own: under whose rule it runs. */
  readonly under?: readonly string[]
  readonly nodeFlags?: readonly string[]
}

export function startProgram(
  name: string,
  args: readonly string[],
  { under = [], nodeFlags = [] }: Start = {},
): Program {
  const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
  const [command = '', ...rest] = [...under, process.execPath, ...nodeFlags, runner, file, ...args]
  const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  return {
    pid: child.pid as number,
    say: (line) => void child.stdin.write(`${line}\n`),
    async hear() {
      const ended = new AbortController()
      const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`${name} ended with ${String(code)}`)
      })
      try {
        const [line] = (await Promise.race([once(lines, 'line', { signal: ended.signal }), exit])) as [string]
        return line
      } finally {
        exit.catch(() => {})
        ended.abort()
      }
    },
    onLine: (listener) => void lines.on('line', listener),
    [Symbol.dispose]: () => void child.kill(),
  }
}

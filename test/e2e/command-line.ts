// Runs the real command line as a person's shell would.
import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const glovebox = fileURLToPath(new URL('../../bin/glovebox', import.meta.url))

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface StartOptions {
  readonly cwd: string
  /** `open`: a pipe that nobody writes to or closes while the command runs. */
  readonly input?: Uint8Array | 'open'
  readonly env?: Readonly<Record<string, string>>
  /** A program with its arguments that hands over to the command line, which stands behind them. */
  readonly through?: readonly string[]
  /** Descriptors in place of pipes. */
  readonly into?: Partial<Readonly<Record<'stdout' | 'stderr', number>>>
}

export interface Started {
  readonly child: ChildProcess
  readonly finished: Promise<Finished>
}

export function start(argv: readonly string[], options: StartOptions): Started {
  const [program = '', ...rest] = [...(options.through ?? []), process.execPath, glovebox, ...argv]
  const child = spawn(program, rest, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: [
      options.input === undefined ? 'ignore' : 'pipe',
      options.into?.stdout ?? 'pipe',
      options.into?.stderr ?? 'pipe',
    ],
  })
  const gather = (stream: NodeJS.ReadableStream | null): Buffer[] => {
    const chunks: Buffer[] = []
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
    return chunks
  }
  const stdout = gather(child.stdout)
  const stderr = gather(child.stderr)
  // The command may end before it has read its input.
  child.stdin?.on('error', () => undefined)
  if (options.input !== 'open') child.stdin?.end(options.input)
  else child.on('exit', () => child.stdin?.destroy())
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() })
    })
  })
  return { child, finished }
}

export const run = (argv: readonly string[], options: StartOptions): Promise<Finished> => start(argv, options).finished

export interface Project {
  /** The host directory that becomes /workspace. */
  readonly directory: string
  /** Its parent, which no sandbox may see. */
  readonly outside: string
  remove(): void
}

export function makeProject(): Project {
  const outside = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-e2e-')))
  chmodSync(outside, 0o755)
  const directory = join(outside, 'project')
  mkdirSync(directory)
  return { directory, outside, remove: () => rmSync(outside, { recursive: true, force: true }) }
}

/** Polls, because what is waited for happens in another process tree. */
export async function until(what: string, holds: () => boolean, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

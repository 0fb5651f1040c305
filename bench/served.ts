// A real server in a process of its own, as an operator starts it, for those that measure it.
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place } from './place.ts'

const glovebox = fileURLToPath(new URL('../bin/glovebox', import.meta.url))

export interface Served extends AsyncDisposable {
  readonly url: string
  readonly pid: number
  /** Told at the first start only. */
  readonly token: string
  /** From the start of the process until it listens. */
  readonly startMs: number
}

export async function serve(place: Place, name: string, flags: readonly string[] = []): Promise<Served> {
  const [state, data] = [join(place.path, name, 'state'), join(place.path, name, 'data')]
  mkdirSync(state, { recursive: true, mode: 0o700 })
  // As operators keep it. On a pipe, whoever measures would read a line of it for each request.
  const log = join(place.path, name, 'log')
  const logDescriptor = openSync(log, 'w', 0o600)
  const startedAt = performance.now()
  const child = spawn(process.execPath, [glovebox, 'serve', '--port', '0', '--data', data, '--json', ...flags], {
    cwd: place.directory(`${name}/cwd`),
    env: { PATH: process.env['PATH'] ?? '', HOME: place.directory(`${name}/home`), GLOVEBOX_STATE_DIR: state },
    stdio: ['ignore', 'pipe', logDescriptor],
  })
  closeSync(logDescriptor)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes('\n')) resolve(text)
    })
    child.once('exit', (code) =>
      reject(new Error(`the server ended with ${code}: ${readFileSync(log, 'utf8').slice(-4000)}`)),
    )
  })
  const startMs = performance.now() - startedAt
  const { url, token = '' } = JSON.parse(line.split('\n', 1)[0] ?? '') as { url: string; token?: string }
  return {
    url,
    pid: child.pid as number,
    token,
    startMs,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

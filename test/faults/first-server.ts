// A server of an empty database, which makes its first token or finds that another one has.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { makePlace } from '../fixtures/exec-server.ts'

const glovebox = fileURLToPath(new URL('../../bin/glovebox', import.meta.url))

export interface FirstServer {
  readonly url: string
  /** There if it was this one that made the token. */
  readonly tokenFile: string
  stop(): Promise<void>
}

export async function startFirst(databaseUrl: string): Promise<FirstServer> {
  const place = makePlace()
  const tokenFile = join(place, 'token')
  const argv = [
    'serve',
    '--port',
    '0',
    '--data',
    join(place, 'data'),
    '--json',
    '--log-level',
    'warn',
    '--token-file',
    tokenFile,
  ]
  const child = spawn(process.execPath, [glovebox, ...argv], {
    cwd: place,
    env: { ...process.env, GLOVEBOX_STATE_DIR: join(place, 'state'), DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`the server ended with ${String(code)}`))),
  ])) as [string]
  return {
    url: (JSON.parse(line) as { readonly url: string }).url,
    tokenFile,
    async stop() {
      child.kill('SIGTERM')
      await exited
      rmSync(place, { recursive: true, force: true })
    },
  }
}

// The real server on a filesystem that is about to lose its power, or has lost it. It ends with whoever started it.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const otherBoot = () => ({
  NODE_OPTIONS: `--import=${new URL('other-boot.mjs', import.meta.url)}`,
  GLOVEBOX_TEST_BOOT: randomUUID(),
})

/** `token`: of an earlier server on the same data. Absent: this is the first one. `boot`: `anew`, if the machine was started since. */
export async function serve({ dist, directory, token, boot }) {
  mkdirSync(join(directory, 'state'), { recursive: true, mode: 0o700 })
  const data = ['--data', join(directory, 'data')]
  const first = token === undefined ? ['--token-file', join(directory, 'token')] : []
  const argv = [join(dist, '../bin/glovebox'), 'serve', '--port', '0', '--json', ...data, ...first]
  const more = boot === 'anew' ? otherBoot() : {}
  const env = { ...process.env, ...more, GLOVEBOX_STATE_DIR: join(directory, 'state') }
  const stdio = ['ignore', 'pipe', 'pipe']
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', process.execPath, ...argv], {
    cwd: directory,
    env,
    stdio,
  })
  let said = ''
  child.stderr.on('data', (text) => (said += text))
  const closed = once(child, 'close')
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    closed.then(([code]) => Promise.reject(new Error(`the server ended with ${code}: ${said}`))),
  ])
  child.stdout.resume()
  const { url } = JSON.parse(String(line))
  if (url === undefined) throw new Error(`the server did not begin: ${line}`)
  return { child, closed, url }
}

export const bodyOf = (mark) => ({
  project_id: 'demo',
  // The time tells one run from another, and the file is on the disk when the command has ended.
  exec: { kind: 'shell', command: `date +%s%N >> ran-${mark}; sync ran-${mark}; echo ${mark}; exit 7` },
  task_ref: { task_id: `task-${mark}` },
})

export const callerOf =
  (url, token) =>
  async (method, path, { body, key } = {}) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    }
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: await response.json() }
  }

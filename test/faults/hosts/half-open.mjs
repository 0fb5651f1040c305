// A network of its own, in which a server has readers whose network then goes away without a word. Prints what became of them.
// Usage: unshare --net node half-open.mjs PLACE READERS
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [, , place, count] = process.argv
const readers = Number(count)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const link = (state) => execFileSync('ip', ['link', 'set', 'lo', state])

link('up')
mkdirSync(join(place, 'state'), { mode: 0o700 })
const glovebox = fileURLToPath(new URL('../../../bin/glovebox', import.meta.url))
const limits = ['--limit', 'heartbeatMs=400', '--limit', 'stalledMs=60000']
const server = spawn(
  process.execPath,
  [glovebox, 'serve', '--port', '0', '--data', join(place, 'data'), '--json', '--log-level', 'warn', ...limits],
  { cwd: place, env: { ...process.env, GLOVEBOX_STATE_DIR: join(place, 'state') } },
)
process.on('exit', () => server.kill('SIGKILL'))
let log = ''
server.stderr.on('data', (chunk) => (log += chunk))
const { url, token } = await new Promise((resolve) => server.stdout.once('data', (chunk) => resolve(JSON.parse(chunk))))
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const body = JSON.stringify({ exec: { kind: 'shell', command: 'sleep 300' } })
const made = await fetch(`${url}/sandbox/execs?wait=false`, { method: 'POST', headers, body })
const { exec_id: execId } = await made.json()

const { port } = new URL(url)
let heard = ''
for (let index = 0; index < readers; index++) {
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.on('data', (chunk) => (heard += chunk))
  socket.write(
    `GET /sandbox/execs/${execId}/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
}
const cuts = () => log.split('an answer was cut off').length - 1
const held = () =>
  execFileSync('ss', ['-Htn', 'state', 'established', 'sport', '=', `:${port}`], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '').length
/** Of all readers together. */
const beats = () => heard.split(': still here').length - 1
const patience = performance.now() + 30_000
while (beats() < readers * 6 && performance.now() < patience) await pause(50)
const before = { cuts: cuts(), held: held(), heard: beats() >= readers * 6 }
link('down')
const begun = performance.now()
while ((cuts() < readers || held() > before.held - readers) && performance.now() - begun < 20_000) await pause(50)
const after = { cuts: cuts(), held: held(), withinMs: Math.round(performance.now() - begun) }
console.log(JSON.stringify({ before, after, codes: [...new Set(log.match(/"code":"\w+"/g))] }))
process.exit(0)

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
// Long enough for whoever has no turn for a while to see what is on its way between two of them.
const limits = ['--limit', 'heartbeatMs=1500', '--limit', 'stalledMs=60000']
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
/** Of each connection to the server: the bytes that it has written and nobody has acknowledged. */
const unheard = () =>
  execFileSync('ss', ['-Htn', 'state', 'established', 'sport', '=', `:${port}`], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number(line.trim().split(/\s+/)[1]))
const held = () => unheard().length
/** Of all readers together. */
const beats = () => heard.split(': still here').length - 1
/** For what never comes. */
const patienceMs = 90_000
const patience = performance.now() + patienceMs
while (beats() < readers * 4 && performance.now() < patience) await pause(50)
/** As it is sent. */
const beatBytes = /[0-9a-f]+\r\n: still here\n\n\r\n/.exec(heard)?.[0].length ?? 0
const before = { cuts: cuts(), held: held(), heard: beats() >= readers * 4 }
link('down')
const begun = performance.now()
let mostUnheard = 0
while ((cuts() < readers || held() > before.held - readers) && performance.now() - begun < patienceMs) {
  mostUnheard = Math.max(mostUnheard, ...unheard())
  await pause(20)
}
const after = { cuts: cuts(), held: held(), mostBeats: mostUnheard / beatBytes }
console.log(JSON.stringify({ before, after, codes: [...new Set(log.match(/"code":"\w+"/g))] }))
process.exit(0)

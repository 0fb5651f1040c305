// Puts a filesystem on the disk that remembers, lets a writer work on it for a while, and kills it. Everything is mounted
// in the namespace that this process was started in, and goes with it.
// Arguments: the built package, a directory of ours with `image` in it, a seed, `honest` or `forgetful`, milliseconds, and how many answers
// there must be at least: a slow machine is given the time that they take. Last, the writer.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [, , dist, place, seed, manner, ms, least, writerName] = process.argv
const at = (name) => join(place, name)
const program = (name) => fileURLToPath(new URL(name, import.meta.url))

function must(command, ...argv) {
  const { status, stderr } = spawnSync(command, argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`)
}

async function soon(command, ...argv) {
  for (const until = performance.now() + 20_000; performance.now() < until; await delay(50))
    if (spawnSync(command, argv).status === 0) return
  must(command, ...argv)
}

for (const name of ['fuse', 'mounted']) mkdirSync(at(name), { recursive: true })
const disk = spawn(process.execPath, [program('power-disk.mjs'), at('fuse'), at('image'), at('log')], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  await Promise.race([
    once(disk.stdout, 'data'),
    once(disk, 'close').then(() => Promise.reject(new Error('the disk is gone'))),
  ])
  must('mount', '-o', 'loop', at('fuse/disk'), at('mounted'))
  const argv = [program(writerName), dist, at('mounted'), at('fuse/answers'), seed, manner]
  const env = { ...process.env, GLOVEBOX_STATE_DIR: at('mounted/state') }
  const writer = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'], env })
  const gone = once(writer, 'close')
  let answered = 0
  const enough = new Promise((resolve) => {
    writer.stdout.on('data', (points) => (answered += points.length) >= Number(least) && resolve())
  })
  await Promise.race([Promise.all([delay(Number(ms)), enough]), gone])
  if (writer.exitCode !== null) throw new Error(`the writer ended by itself with ${writer.exitCode}`)
  writer.kill('SIGKILL')
  await gone
  // What comes behind this is only the unmounting.
  appendFileSync(at('fuse/answers'), '{"what":"end"}\n')
  // What a server made for its guests goes a moment after it.
  await soon('umount', at('mounted'))
  await soon('umount', at('fuse'))
  await once(disk, 'close')
} finally {
  disk.kill('SIGKILL')
}

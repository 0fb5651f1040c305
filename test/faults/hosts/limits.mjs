// A program that lets one guest run against its limits, and tells how that ended, how long this program itself was ever
// held up, and what it still holds afterwards. Arguments: scenario, workspace.
import { readdirSync } from 'node:fs'
import { Sandbox } from './dist/index.js'

const [scenario, workspace] = process.argv.slice(2)
const tickMs = 50
const mebibyte = 1024 * 1024

const scenarios = {
  forks: { command: 'bomb() { bomb | bomb & }; bomb; sleep 30', timeoutMs: 2000, policy: { pids: 64 } },
  memory: {
    command: `python3 -c "b = []\nwhile True: b.append(bytearray(${16 * mebibyte}))"`,
    timeoutMs: 20_000,
    policy: { memoryMb: 128 },
  },
  spin: {
    command: 'for i in 1 2 3 4; do (setsid sh -c "while :; do :; done" &); done; while :; do :; done',
    timeoutMs: 4000,
    policy: {},
  },
  tmp: { command: 'head -c 1G /dev/zero > /tmp/fill; stat -c %s /tmp/fill', timeoutMs: 20_000, policy: { tmpMb: 32 } },
  shm: {
    command: 'head -c 1G /dev/zero > /dev/shm/fill; stat -c %s /dev/shm/fill',
    timeoutMs: 20_000,
    policy: { shmMb: 16 },
  },
}

const descriptors = () => readdirSync('/proc/self/fd').length
/** Streams of children close a moment after their end: how many are open when there have been no fewer for two seconds, or as many as before. */
async function settledDescriptors(before) {
  let [least, still] = [descriptors(), 0]
  while (still < 40 && least !== before) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const now = descriptors()
    still = now < least ? 0 : still + 1
    least = Math.min(least, now)
  }
  return least
}
const { command, timeoutMs, policy } = scenarios[scenario]
const create = () => Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }], policy })

// The first one opens what the process keeps: the launcher, its pipes.
await (await create()).kill()
const descriptorsBefore = await settledDescriptors()

const sandbox = await create()
let [latestMs, last, turns] = [0, performance.now(), 0]
const timer = setInterval(() => {
  const now = performance.now()
  latestMs = Math.max(latestMs, now - last - tickMs)
  last = now
  turns += 1
}, tickMs)
const { ended, exitCode, stdout, stderr } = await sandbox.commands.run(command, { timeoutMs })
// The sandbox outlives what its command did.
const next = await sandbox.commands.run('echo fine')
clearInterval(timer)
const { notEnforced } = sandbox.describe()
await sandbox.kill()
const descriptorsAfter = await settledDescriptors(descriptorsBefore)
const told = {
  id: sandbox.id,
  ended,
  exitCode,
  stdout: stdout.slice(0, 1000),
  stderr: stderr.slice(0, 1000),
  latestMs,
  turns,
  next: next.stdout,
  notEnforced: notEnforced.map(({ what }) => what),
  descriptorsBefore,
  descriptorsAfter,
}
process.stdout.write(`${JSON.stringify(told)}\n`)
// Stays, so that its control groups and processes can be looked at while it lives.
process.stdin.resume().on('end', () => process.exit(0))

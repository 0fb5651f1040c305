// A program that does the same thing over and over and tells what it holds each time: descriptors, threads, memory.
// Arguments: scenario, workspace, times.
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Sandbox } from './dist/index.js'

const [scenario, workspace, timesText] = process.argv.slice(2)
const times = Number(timesText)
const samples = 10
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

const mounts = [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }]
const mustFail = async (work) => {
  const failed = await work.then(
    () => false,
    () => true,
  )
  if (!failed) throw new Error('this was to fail')
}

const onlyGone = (error) => {
  if (error.code !== 'SANDBOX_GONE') throw error
}

async function runs() {
  const sandbox = await Sandbox.create({ mounts })
  return {
    async step(index) {
      if (index % 10 === 7) await mustFail(sandbox.commands.run(['true'], { cwd: '/elsewhere' }))
      else if (index % 10 === 8) await sandbox.commands.run(['/no/such/program'])
      else if (index % 10 === 9) await sandbox.commands.run('sleep 30 & sleep 30', { timeoutMs: 20 })
      else await sandbox.commands.run('cat; echo $RANDOM >&2', { stdin: 'x'.repeat(100_000) })
    },
    end: () => sandbox.kill(),
  }
}

async function creates() {
  return {
    async step(index) {
      if (index % 5 === 3)
        return mustFail(Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: `${workspace}/missing` }] }))
      if (index % 5 === 4) return mustFail(Sandbox.create({ mounts, policy: { memoryMb: 1_000_000 } }))
      const sandbox = await Sandbox.create({ mounts })
      await sandbox.commands.run(['true'])
      // Killed in the middle of a command, or while one is being started, every now and then.
      const running = index % 5 === 2 ? sandbox.commands.run(['sleep', '30']).catch(onlyGone) : undefined
      if (index % 10 === 2) await sleep(60)
      await sandbox.kill()
      await running
    },
    end: async () => {},
  }
}

const held = () => ['fd', 'task'].map((what) => readdirSync(`/proc/self/${what}`).length)

/** Streams and threads close a moment after their end: until there have been no fewer for a while, or as few as at first. */
async function settled(first) {
  let [least, still] = [held(), 0]
  while (still < 60 && String(least) !== String(first)) {
    await sleep(50)
    const now = held()
    still = now.some((count, at) => count < least[at]) ? 0 : still + 1
    least = now.map((count, at) => Math.min(count, least[at]))
  }
  return least
}

async function look(index, first) {
  const [descriptors, threads] = await settled(first)
  collectGarbage()
  collectGarbage()
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024
  return {
    index,
    descriptors,
    threads,
    rssMiB: rss,
  }
}

const { step, end } = await { runs, creates }[scenario]()
const warmUp = Math.max(10, Math.floor(times / 5))
for (let index = 0; index < warmUp; index += 1) await step(index)
const seen = [await look(0)]
for (let index = 1; index <= times; index += 1) {
  await step(index)
  if (index % Math.ceil(times / samples) === 0) seen.push(await look(index, [seen[0].descriptors, seen[0].threads]))
}
await end()
process.stdout.write(`${JSON.stringify(seen)}\n`)

// Keeps many sandboxes that nobody uses, and tells what they cost: in this process, and in all that it has started. Run by bench/pool.ts in a
// process of its own, since memory of other benches would hide it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openProvider } from '../../src/index.ts'

const [directory = '', text = '500'] = process.argv.slice(2)
const count = Number(text)
const firstFew = 20
/** bwrap, the keeper, and the child that waits for a command. */
const processesOfCell = 3
/** A cell rests for ten seconds before it is ended. And V8 grows its heap while many sandboxes are made one after another, for the garbage
 * of that, and gives the room back when nothing has been made for the better part of a minute. */
const restMs = 90_000

const settingsFile = join(directory, 'glovebox.yaml')
writeFileSync(settingsFile, 'pool: {use: bwrap, replicas: 2000, idle_timeout: 0}\n', { mode: 0o600 })
const provider = await openProvider({ settingsFile })

const use = async (index: number): Promise<void> => {
  const id = await provider.acquire({ user: 'idle', thread: `thread-${index}` })
  const result = await provider.get(id)?.commands.run('echo here > file')
  if (result?.exitCode !== 0) throw new Error(`the command ended with ${result?.exitCode}: ${result?.stderr}`)
}
/** As the operator sees it, and nothing asks the collector for anything. */
const cost = () => ({
  rssKiB: process.memoryUsage.rss() / 1024,
  heapKiB: process.memoryUsage().heapUsed / 1024,
  descriptors: readdirSync('/proc/self/fd').length,
})

for (let index = 0; index < firstFew; index += 1) await use(index)
await delay(restMs)
const before = cost()
const beforeProcesses = descendants(process.pid).length
for (let index = firstFew; index < firstFew + count; index += 1) await use(index)
const atRest = descendants(process.pid)
const withCells = { processes: atRest.length - beforeProcesses, pssKiB: sum(atRest.map(pssOf)) }
const oneMore = firstFew + count
await use(oneMore)
const fresh = descendants(process.pid)
const busy = cost()
await delay(restMs)
const after = cost()
const each = (less: number, more: number): number => (more - less) / count

process.stdout.write(
  `${JSON.stringify({
    count,
    kibEach: each(before.rssKiB, after.rssKiB),
    kibEachBeforeRest: each(before.rssKiB, busy.rssKiB),
    heapKibEach: each(before.heapKiB, after.heapKiB),
    descriptorsEach: each(before.descriptors, after.descriptors),
    processesLeft: descendants(process.pid).length - beforeProcesses,
    cellPssKiB: withCells.pssKiB / Math.max(1, withCells.processes / processesOfCell),
    cellsAtRest: Math.round(fresh.length / processesOfCell),
  })}\n`,
)
await provider.shutdown()
process.exit(0)

function descendants(pid: number): readonly number[] {
  const parents = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const each = Number(name)
    if (!Number.isInteger(each)) continue
    try {
      const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${each}/stat`, 'utf8'))?.[1])
      parents.set(parent, [...(parents.get(parent) ?? []), each])
    } catch {
      // It has ended meanwhile.
    }
  }
  const below = (one: number): readonly number[] =>
    (parents.get(one) ?? []).flatMap((child) => [child, ...below(child)])
  return below(pid)
}

/** Shared pages counted by their share. */
function pssOf(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

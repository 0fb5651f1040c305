// What a virtual machine's host does to whoever measures milliseconds on it. A processor that has nothing to do is given back, and it takes
// the host up to tens of milliseconds until it has one again; and it takes processors away at any time. Against the one, the
// processors are kept awake; the other is watched for, so that it can be told from what a server does.
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { type Program, startProgram } from './program.ts'

/** On the clock of `monotonicMs`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The kernel's clock, which all processes share. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

export interface Machine extends Disposable {
  /** When any processor stood still, in order. */
  readonly stalls: readonly Span[]
  /** What the kernel says that the host took of all processors together. Both should tell about the same. */
  stolenMs(): number
}

/** Shorter ones may be the kernel's own work. */
const leastStallMs = 0.5
const latencyDoor = '/dev/cpu_dma_latency'

export async function watchMachine(): Promise<Machine> {
  const awake = keepAwake()
  const stalls: Span[] = []
  const watchers: Program[] = []
  for (let processor = 0; processor < availableParallelism(); processor += 1) {
    const watcher = startProgram('stall-watcher', [String(leastStallMs), String(process.pid)], {
      under: ['taskset', '-c', String(processor)],
    })
    watchers.push(watcher)
    await watcher.hear()
    watcher.onLine((line) => {
      const [from = Number.NaN, to = Number.NaN] = line.split(' ').map(Number)
      stalls.push({ from, to })
    })
    runFirst(watcher.pid, 99)
  }
  return {
    stalls,
    stolenMs,
    [Symbol.dispose]: () => {
      for (const watcher of watchers) watcher[Symbol.dispose]()
      if (awake !== undefined) closeSync(awake)
    },
  }
}

/** As long as it is open, an idle processor looks for work instead of going to sleep. Undefined where the kernel has no such door. */
function keepAwake(): number | undefined {
  if (!existsSync(latencyDoor)) return undefined
  const descriptor = openSync(latencyDoor, 'r+')
  writeSync(descriptor, Buffer.alloc(4))
  return descriptor
}

const ticksOfKernelMs = 10

function stolenMs(): number {
  const [, , , , , , , , stolen] = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '').split(/\s+/)
  return Number(stolen) * ticksOfKernelMs
}

/** Its first thread goes before everybody else who wants to run, and what it starts does not. */
export function runFirst(pid: number, priority: number): void {
  const { status, stderr } = spawnSync('chrt', ['--fifo', '--reset-on-fork', '--pid', String(priority), String(pid)])
  if (status !== 0) throw new Error(`a flood is measured by root, who may choose who runs first: ${String(stderr)}`)
}

// A server that is used without a pause, and what it holds meanwhile: memory, descriptors, threads, processes and files. What a sound
// server holds after an hour it held after a minute.
import { lstatSync, readdirSync, readFileSync, readlinkSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makePlace, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { seeded, type Chance } from './seeded.ts'

export interface SoakOptions {
  readonly durationMs: number
  /** So many at least, in each half as long as it takes: a slow machine warms up and is used as much as a quick one. */
  readonly leastRounds?: number
  /** Not counted: what is loaded and grown once. */
  readonly warmUpMs: number
  readonly sampleMs: number
  readonly callers: number
  readonly seed: number
}

export interface Sample {
  readonly atMs: number
  readonly rssMiB: number
  readonly descriptors: number
  readonly threads: number
  readonly processes: number
  /** Below the state directory and the server's temporary one. */
  readonly files: number
}

export type Held = Exclude<keyof Sample, 'atMs'>
export const heldThings: readonly Held[] = ['rssMiB', 'descriptors', 'threads', 'processes', 'files']

export interface SoakReport {
  readonly rounds: number
  readonly samples: readonly Sample[]
  /** Of each thing, an hour's growth by least squares. */
  readonly perHour: Readonly<Record<Held, number>>
  /** What the middle of the last third is above the middle of the first. */
  readonly grown: Readonly<Record<Held, number>>
  readonly faults: readonly string[]
}

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const place = makePlace()
  // What V8 and glibc make room for and keep is no leak; held still, so that a leak can be told from it.
  const env = {
    MALLOC_ARENA_MAX: '1',
    NODE_OPTIONS: '--max-semi-space-size=2 --max-old-space-size=64',
    TMPDIR: join(place, 'state'),
  }
  const server = await startExecServer({ place, env, settings: 'pool: {warm: 2, idle_timeout: 20}\n' })
  const faults: string[] = []
  const samples: Sample[] = []
  let rounds = 0
  let isOver = false
  try {
    const callers = Array.from({ length: options.callers }, async (_, caller) => {
      const chance = seeded(options.seed + caller)
      // What is kept is there from the beginning.
      for (let key = 0; key < keysOfEach; key += 1) await useServer(server, chance, { caller, key })
      while (!isOver) {
        const key = chance.between(0, 1) === 0 ? chance.between(0, keysOfEach - 1) : undefined
        await useServer(server, chance, { caller, key }).catch((error: unknown) => faults.push(String(error)))
        rounds += 1
      }
    })
    const { leastRounds = 0 } = options
    await delay(options.warmUpMs)
    while (rounds < leastRounds) await delay(options.sampleMs)
    const begunAt = performance.now()
    const enoughRounds = rounds + leastRounds
    while (performance.now() - begunAt < options.durationMs || rounds < enoughRounds) {
      samples.push(sampleOf(server, place, performance.now() - begunAt))
      await delay(options.sampleMs)
    }
    isOver = true
    await Promise.all(callers)
    const code = await server.stop()
    if (code !== 0) faults.push(`the server ended with ${code}`)
    const left = leftovers(join(place, 'state'))
    if (left.length > 0) faults.push(`left: ${left.join(' ')}`)
    return {
      rounds,
      samples,
      perHour: each((held) => slope(samples, held)),
      grown: each((held) => growth(samples, held)),
      faults,
    }
  } finally {
    await server.remove()
  }
}

const keysOfEach = 3

interface Whose {
  readonly caller: number
  /** Undefined: a sandbox of its own, which ends with this use. */
  readonly key: number | undefined
}

/** What people do with a server: a sandbox of their own, one of a few keys, files, a command that fails, one that is cut off. */
async function useServer(server: ExecServer, chance: Chance, { caller, key }: Whose): Promise<void> {
  const isKeyed = key !== undefined
  const body = { project: 'demo', ...(isKeyed ? { key: `soak-${caller}-${key}` } : {}) }
  const made = await server.ask('POST', '/sandboxes', { body })
  if (made.status >= 300) throw new Error(`create: ${made.status} ${made.text}`)
  const { id } = made.json as { readonly id: string }
  const run = async (command: string, more: object = {}): Promise<void> => {
    const ran = await server.ask('POST', `/sandboxes/${id}/commands`, { body: { command, ...more } })
    if (ran.status !== 200) throw new Error(`run: ${ran.status} ${ran.text}`)
  }
  await run('echo one; echo two >&2')
  await run('head -c 300000 /dev/zero | tr "\\0" x; exit 3')
  await run('echo kept > file; echo left > /tmp/left; sleep 300 & true')
  if (chance.between(0, 4) === 0) await run('sleep 30', { timeoutMs: 50 })
  const listed = await server.ask('GET', `/sandboxes/${id}/files?path=/workspace/file`)
  if (listed.status !== 200) throw new Error(`read: ${listed.status} ${listed.text}`)
  const ended = isKeyed
    ? await server.ask('POST', `/sandboxes/${id}/release`)
    : await server.ask('DELETE', `/sandboxes/${id}`)
  if (ended.status >= 300) throw new Error(`end: ${ended.status} ${ended.text}`)
}

function sampleOf({ pid }: ExecServer, place: string, atMs: number): Sample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const number = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  return {
    atMs,
    rssMiB: number('VmRSS') / 1024,
    threads: number('Threads'),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    processes: countBelow(pid),
    files: countFiles(join(place, 'state')),
  }
}

function countBelow(pid: number): number {
  const children = namesIn(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
    } catch {
      return []
    }
  })
  return children.reduce((sum, child) => sum + 1 + countBelow(child), 0)
}

/** The files of guests are theirs, and the audit log is meant to grow. A link is one file: one that leads to its own directory
 * would be followed as often as the kernel allows. */
function countFiles(directory: string): number {
  const counted = entriesIn(directory).filter(({ name }) => !['audit', 'workspace'].includes(name))
  return counted.reduce(
    (sum, entry) => sum + 1 + (entry.isDirectory() ? countFiles(join(directory, entry.name)) : 0),
    0,
  )
}

/** What goes away meanwhile has none. */
function entriesIn(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
}

const namesIn = (directory: string): readonly string[] => entriesIn(directory).map(({ name }) => name)

/** Sandboxes with a key keep their files by design, also those that were made ahead and are linked to. */
function leftovers(state: string): readonly string[] {
  const members = namesIn(join(state, 'sandboxes')).map((name) => join(state, 'sandboxes', name))
  const kept = new Set(members.filter((path) => lstatSync(path).isSymbolicLink()).map((path) => readlinkSync(path)))
  const others = ['sandboxes', 'spares', 'bwrap'].flatMap((name) =>
    namesIn(join(state, name)).map((each) => join(state, name, each)),
  )
  return others.filter((path) => path.includes('@') && !kept.has(path))
}

const each = (of: (held: Held) => number): Readonly<Record<Held, number>> =>
  Object.fromEntries(heldThings.map((held) => [held, of(held)])) as Record<Held, number>

const hourMs = 3_600_000

function slope(samples: readonly Sample[], held: Held): number {
  const mean = (pick: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + pick(sample), 0) / samples.length
  const [x, y] = [mean(({ atMs }) => atMs), mean((sample) => sample[held])]
  const covariance = mean((sample) => (sample.atMs - x) * (sample[held] - y))
  return (covariance / mean(({ atMs }) => (atMs - x) ** 2)) * hourMs
}

function growth(samples: readonly Sample[], held: Held): number {
  const third = Math.floor(samples.length / 3)
  const middle = (part: readonly Sample[]): number =>
    part.map((sample) => sample[held]).toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? Number.NaN
  return middle(samples.slice(-third)) - middle(samples.slice(0, third))
}

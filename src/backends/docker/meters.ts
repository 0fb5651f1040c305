// What the containers of a sandbox cost, read from their control groups. The daemon is asked once for each, for the group that it has
// put it into; from then on it is a few small files, and no program is started.
import { readFileSync } from 'node:fs'
import type { BoundaryUsage, NotCounted } from '../../contract/backend.ts'
import { directoryOf, parseCgroupLines, parseCgroupMounts } from '../../process/control-groups.ts'
import type { Whereabouts } from './containers.ts'

export interface Meters {
  /** Of these together, beside what others have used up that are gone. */
  usage(names: readonly string[]): Promise<BoundaryUsage>
}

export interface MetersParts {
  readonly find: (name: string) => Promise<Whereabouts | undefined>
  readonly isGvisor: boolean
  /** Undefined where it is not there. */
  readonly read?: (path: string) => string | undefined
}

type Counted = 'memoryBytes' | 'pids' | 'cpuMs'
type Meter = () => number | undefined
type Group = Readonly<Partial<Record<Counted, Meter>>>

const counted = ['memoryBytes', 'pids', 'cpuMs'] as const
const unseen = "the container's control group cannot be seen from here"
const gvisorsOwn = "gVisor keeps the guest's processes to itself, and the host sees only its own threads"

export function openMeters({ find, isGvisor, read = readOrNothing }: MetersParts): Meters {
  const groups = new Map<string, Group>()
  const cpuSeen = new Map<string, number>()

  const groupOf = async (name: string): Promise<Group> => {
    const known = groups.get(name)
    if (known !== undefined) return known
    const found = await find(name)
    // It may have ended since it was named.
    if (found === undefined) return {}
    const group = groupIn(found, read)
    groups.set(name, group)
    return group
  }
  const told = isGvisor ? counted.filter((what) => what !== 'pids') : counted
  const threads: readonly NotCounted[] = isGvisor ? [{ what: 'pids', why: gvisorsOwn }] : []

  return {
    async usage(names) {
      const sums = new Map<Counted, number>()
      for (const name of names) {
        const group = await groupOf(name)
        for (const what of told) {
          const now = group[what]?.()
          if (now === undefined) continue
          if (what === 'cpuMs') cpuSeen.set(name, now)
          else sums.set(what, (sums.get(what) ?? 0) + now)
        }
      }
      for (const name of groups.keys()) if (!names.includes(name)) groups.delete(name)
      // What a container has used is used, though it is gone; of its last moments nobody knows.
      if (cpuSeen.size > 0)
        sums.set(
          'cpuMs',
          [...cpuSeen.values()].reduce((sum, ms) => sum + ms, 0),
        )
      const missing = told.filter((what) => !sums.has(what)).map((what) => ({ what, why: unseen }))
      return { ...Object.fromEntries(sums), notCounted: [...threads, ...missing] }
    },
  }
}

/** SECURITY: a pid of another namespace is another process here: only a group that bears the container's own id is its group.
 * src/backends/docker/meters.test: "the process of another is not counted in its place" */
function groupIn({ pid, id }: Whereabouts, read: (path: string) => string | undefined): Group {
  const lines = parseCgroupLines(read(`/proc/${pid}/cgroup`) ?? '').filter(({ path }) => path.includes(id))
  const mounts = parseCgroupMounts(read('/proc/self/mountinfo') ?? '')
  const directory = (controller: string): string | undefined => {
    const line = lines.find(({ controllers }) => controllers.includes(controller))
    const mount = mounts.find(({ type, controllers }) => type === 'cgroup' && controllers.includes(controller))
    return line === undefined || mount === undefined ? undefined : directoryOf(mount, line.path)
  }
  const unifiedLine = lines.find(({ hierarchy }) => hierarchy === 0)
  const unifiedMount = mounts.find(({ type }) => type === 'cgroup2')
  const unified =
    unifiedLine === undefined || unifiedMount === undefined ? undefined : directoryOf(unifiedMount, unifiedLine.path)

  const meter = (
    place: string | undefined,
    file: string,
    value: (text: string) => number | undefined,
  ): Meter | undefined => {
    if (place === undefined || read(`${place}/${file}`) === undefined) return undefined
    return () => {
      const text = read(`${place}/${file}`)
      return text === undefined ? undefined : value(text)
    }
  }
  const memoryBytes =
    meter(directory('memory'), 'memory.usage_in_bytes', Number) ?? meter(unified, 'memory.current', Number)
  const pids = meter(directory('pids'), 'pids.current', Number) ?? meter(unified, 'pids.current', Number)
  const cpuMs =
    meter(directory('cpuacct'), 'cpuacct.usage', (text) => Number(text) / 1e6) ?? meter(unified, 'cpu.stat', usedMs)
  return {
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(pids === undefined ? {} : { pids }),
    ...(cpuMs === undefined ? {} : { cpuMs }),
  }
}

function usedMs(text: string): number | undefined {
  const found = /^usage_usec (\d+)$/m.exec(text)?.[1]
  return found === undefined ? undefined : Number(found) / 1000
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // Gone with its container, or hidden from us: either way nothing can be told.
    return undefined
  }
}

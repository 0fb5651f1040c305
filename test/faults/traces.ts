// What a sandbox's host process can leave behind, read from the kernel and the disk, and from nothing of ours.
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Living processes that belong to a place: of that session, with its path in their command line, or with mounts of it. */
export function processesOf(place: {
  readonly directory: string
  readonly session?: number | undefined
}): readonly string[] {
  const ours = quietly(() => readlinkSync('/proc/self/ns/mnt'))
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    const stat = quietly(() => readFileSync(`/proc/${name}/stat`, 'latin1'))
    const [state = 'X', , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (stat === '' || 'ZX'.includes(state)) return []
    const command = quietly(() => readFileSync(`/proc/${name}/cmdline`, 'latin1')).replaceAll('\0', ' ')
    const sees = quietly(() => readlinkSync(`/proc/${name}/ns/mnt`))
    const isOurs =
      Number(session) === place.session ||
      command.includes(place.directory) ||
      (sees !== ours && quietly(() => readFileSync(`/proc/${name}/mountinfo`, 'latin1')).includes(place.directory))
    return isOurs ? [`${name} (${state}) ${command.slice(0, 120)}`] : []
  })
}

/** Milliseconds until nothing of the place lives; what still did when the patience ended. */
export async function untilGone(
  place: Parameters<typeof processesOf>[0],
  patienceMs: number,
): Promise<{ readonly afterMs: number; readonly survivors: readonly string[] }> {
  const startedAt = performance.now()
  for (;;) {
    const survivors = processesOf(place)
    const afterMs = performance.now() - startedAt
    if (survivors.length === 0 || afterMs > patienceMs) return { afterMs, survivors }
    await sleep(10)
  }
}

const mountLines = (): readonly string[] => readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n')

/** Mounts of a place, and those where root's launcher stages its own. Other programs of the machine mount things too. */
export const mountsOf = (directory: string): readonly string[] =>
  mountLines().filter((line) => line.includes(directory) || line.includes(' /sys/kernel'))

/** Everything below a directory, by relative name, directories with a slash. */
export function entriesBelow(directory: string, prefix = ''): readonly string[] {
  return readdirSync(directory)
    .sort()
    .flatMap((name) => {
      const path = join(directory, name)
      if (!lstatSync(path).isDirectory()) return [`${prefix}${name}`]
      return [`${prefix}${name}/`, ...entriesBelow(path, `${prefix}${name}/`)]
    })
}

/** Ids of sandboxes of which the state directory knows anything. */
export const sandboxIdsIn = (stateDir: string): readonly string[] => [
  ...new Set(entriesBelow(stateDir).flatMap((name) => /sbx_[0-9a-z]+/.exec(name) ?? [])),
]

/** Directories of control groups, in every hierarchy, that belong to one of these sandboxes. */
export function controlGroupsOf(ids: readonly string[]): readonly string[] {
  const points = mountLines().flatMap((line) => (/ - cgroup2? /.test(line) ? [line.split(' ')[4] ?? ''] : []))
  const own = quietly(() => readFileSync('/proc/self/cgroup', 'utf8'))
    .split('\n')
    .map((line) => line.split(':')[2] ?? '')
  const parents = new Set(points.flatMap((point) => ['', ...own].map((path) => join(point, path))))
  return [...parents].flatMap((parent) =>
    ids.map((id) => join(parent, `glovebox-${id}`)).filter((path) => existsSync(path)),
  )
}

function quietly(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

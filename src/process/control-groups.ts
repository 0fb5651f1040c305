// Where a process stands in the host's control groups, read from the kernel's own tables. Pure.

/** One line of /proc/PID/cgroup. The v2 line has no controllers and hierarchy 0. */
export interface CgroupLine {
  readonly hierarchy: number
  readonly controllers: readonly string[]
  readonly path: string
}

/** One line of /proc/self/mountinfo, as far as it matters here. */
export interface CgroupMount {
  readonly type: 'cgroup' | 'cgroup2'
  /** The group that is the root of this mount: not `/` in a container that keeps the host's names. */
  readonly root: string
  readonly point: string
  readonly controllers: readonly string[]
}

export function parseCgroupLines(text: string): readonly CgroupLine[] {
  return text.split('\n').flatMap((line) => {
    const match = /^(\d+):([^:]*):(\/.*)$/.exec(line)
    if (match === null) return []
    const [, hierarchy = '', controllers = '', path = ''] = match
    return [{ hierarchy: Number(hierarchy), controllers: controllers.split(',').filter((name) => name !== ''), path }]
  })
}

export function parseCgroupMounts(text: string): readonly CgroupMount[] {
  return text.split('\n').flatMap((line) => {
    // Optional fields stand before the separator, so the two halves are read apart.
    const [before, after] = line.split(' - ')
    const [type, , superOptions = ''] = (after ?? '').split(' ')
    const [, , , root, point] = (before ?? '').split(' ')
    if ((type !== 'cgroup' && type !== 'cgroup2') || root === undefined || point === undefined) return []
    return [{ type, root: unescapeOctal(root), point: unescapeOctal(point), controllers: superOptions.split(',') }]
  })
}

/** The directory of a group below a mount; undefined when the mount does not show that group. */
export function directoryOf(mount: CgroupMount, path: string): string | undefined {
  // A `..` is how the kernel names a group outside the reader's cgroup namespace.
  if (path.split('/').includes('..') || mount.root.split('/').includes('..')) return undefined
  const root = mount.root === '/' ? '' : mount.root
  if (path !== root && !path.startsWith(`${root}/`)) return undefined
  const below = path.slice(root.length).replace(/\/+$/, '')
  return `${mount.point}${below}`
}

const unescapeOctal = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

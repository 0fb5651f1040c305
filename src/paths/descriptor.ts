// The system calls of this room. Node has no openat, so a name below an open directory is spelt
// `/proc/self/fd/N/name`: the kernel jumps to the directory behind N, wherever it is by now, and looks up
// one name there. Nothing else in the room builds a path for the host.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  statfsSync,
  type BigIntStats,
} from 'node:fs'
import { isErrno } from './refusal.ts'

// Not among Node's constants. The value is the same on every architecture that Node runs on.
const O_PATH = 0o10000000
const { O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const procMagic = 0x9fa0

export interface Opened {
  readonly fd: number
  readonly stats: BigIntStats
}

/** One component, never `.` or `..` and never with a slash. Bytes, where a name on disk need not be UTF-8. */
export type Name = string | Buffer

/** A name inside the directory behind `fd`. */
export const inside = (fd: number, name: Name): Buffer | string =>
  typeof name === 'string' ? `/proc/self/fd/${fd}/${name}` : Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])

/** The very inode behind `fd`, whatever its name is now. */
export const itself = (fd: number): string => `/proc/self/fd/${fd}`

export const statsOf = (fd: number): BigIntStats => fstatSync(fd, { bigint: true })

/** For a mount's root only: the operator named it, so links on the way are the operator's. */
export const openRoot = (hostPath: string): Opened => examined(openSync(hostPath, O_PATH | O_DIRECTORY))

/** A second descriptor of the same directory, with a life of its own. */
export const again = ({ fd, stats }: Opened): Opened => ({ fd: openSync(itself(fd), O_PATH | O_DIRECTORY), stats })

// SECURITY: O_PATH|O_NOFOLLOW takes hold of whatever has the name without following or opening it, so that
// the kind is known before anything happens. test/attacks/symlink-race: "no try leaks"
export function findInside(fd: number, name: Name): Opened | undefined {
  try {
    return examined(openSync(inside(fd, name), O_PATH | O_NOFOLLOW))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

function examined(fd: number): Opened {
  try {
    return { fd, stats: statsOf(fd) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

// SECURITY: O_NONBLOCK, so that neither a FIFO nor a lease can hold the host. test/attacks/host-paths: "a FIFO does not hang a read"
export const reopen = (fd: number, flags: number): number => openSync(itself(fd), flags | O_NONBLOCK | O_NOCTTY)

export const reopenDirectory = (fd: number): number => reopen(fd, O_RDONLY | O_DIRECTORY)

export const statsInside = (fd: number, name: Name): BigIntStats | undefined =>
  lstatSync(inside(fd, name), { bigint: true, throwIfNoEntry: false })

/** Undefined when it is no symlink any more. The text is the guest's own and proves nothing. */
export function linkInside(fd: number, name: Name): string | undefined {
  try {
    return readlinkSync(inside(fd, name))
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EINVAL')) return undefined
    throw error
  }
}

export const sameInode = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino

/** Which mount of the host a descriptor is on: tells a bind mount from a plain directory, as a device number cannot. */
export const hostMountOf = (fd: number): string | undefined =>
  /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]

/** The walk is only as good as /proc: without the real one it must not begin. */
export function procIsMounted(): boolean {
  try {
    return statfsSync('/proc/self/fd').type === procMagic
  } catch {
    return false
  }
}

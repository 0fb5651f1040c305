// How finely the filesystem tells times. Kernels from 6.13 on give a file that was looked at a new ctime at its next change,
// however soon that comes; older ones count in ticks of up to ten milliseconds, and two changes within one look alike.
import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Longer than the longest tick, with room for a clock that is being slewed. */
export const doubtMs = 20

const rounds = 8
/** On the shortest tick, one millisecond, so many different times take longer than this. */
const mostMs = 5

/** Asks the filesystem itself: the version of a kernel does not tell what its filesystems do. */
export function hasFineTimes(scratch: string, tops: readonly string[]): boolean {
  const path = join(scratch, `.grain.${randomBytes(12).toString('hex')}.tmp`)
  const fd = openSync(path, 'wx', 0o600)
  try {
    const { dev } = fstatSync(fd)
    if (tops.some((top) => statSync(top, { throwIfNoEntry: false })?.dev !== dev)) return false
    const seen = new Set<bigint>()
    const started = performance.now()
    for (let round = 0; round < rounds; round++) {
      writeSync(fd, '.', 0)
      seen.add(fstatSync(fd, { bigint: true }).ctimeNs)
    }
    return seen.size === rounds && performance.now() - started < mostMs
  } finally {
    closeSync(fd)
    unlinkSync(path)
  }
}

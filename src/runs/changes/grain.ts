// How finely the filesystem tells times. Kernels from 6.13 on give an inode that was looked at a new ctime at its next change,
// however soon that comes; older ones count in ticks of up to ten milliseconds, and two changes within one look alike. On tmpfs
// the newer ones do both: a directory is given the ctime of the file that is taken out of it, which counts in ticks if nobody looked at it.
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
  const { dev } = statSync(scratch)
  if (tops.some((top) => statSync(top, { throwIfNoEntry: false })?.dev !== dev)) return false
  return hasFineFiles(path) && hasFineDirectories(scratch, path)
}

function hasFineFiles(path: string): boolean {
  const fd = openSync(path, 'wx', 0o600)
  try {
    return areAllDifferent(() => {
      writeSync(fd, '.', 0)
      return [fstatSync(fd, { bigint: true }).ctimeNs]
    })
  } finally {
    closeSync(fd)
    unlinkSync(path)
  }
}

function hasFineDirectories(directory: string, path: string): boolean {
  const ctimeNs = (): bigint => statSync(directory, { bigint: true }).ctimeNs
  return areAllDifferent(() => {
    closeSync(openSync(path, 'wx', 0o600))
    const afterCreating = ctimeNs()
    unlinkSync(path)
    return [afterCreating, ctimeNs()]
  })
}

function areAllDifferent(change: () => readonly bigint[]): boolean {
  const seen: bigint[] = []
  const started = performance.now()
  for (let round = 0; round < rounds; round++) seen.push(...change())
  return new Set(seen).size === seen.length && performance.now() - started < mostMs
}

// Space that is kept while sandboxes may live, so that what they have put on the host can be taken away on a disk that is full by then: whoever
// does that takes a lock, which is a file, and may have to write down what is left. It lies on the disk of the state directory.
import { randomBytes } from 'node:crypto'
import { statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from './placing/codes.ts'

/** A lock and a journal, each in blocks of its own. */
export const reserveBytes = 16 * 1024

/** Beside the lock. */
const pathIn = (stateDir: string): string => join(stateDir, 'locks', 'placeholders.reserve')

/** Under the lock. Throws ENOSPC when there is no room for it. Bytes of chance: a filesystem that compresses would keep nothing back for zeros. */
export function holdReserve(stateDir: string): void {
  const path = pathIn(stateDir)
  if (statSync(path, { throwIfNoEntry: false })?.size === reserveBytes) return
  try {
    writeFileSync(path, randomBytes(reserveBytes), { mode: 0o600 })
  } catch (error) {
    give(path)
    throw error
  }
}

/** What takes things away, done once more with the reserve given up where it finds no room. The next who lays something keeps another. */
export async function withReserve<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!hasCode(error, 'ENOSPC', 'EDQUOT') || !give(pathIn(stateDir))) throw error
    return await work()
  }
}

function give(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

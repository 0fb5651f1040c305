// Space that is kept while sandboxes may live, so that what they have put on the host can be taken away on a disk that is full by then: whoever
// does that takes a lock, which is a file, and may have to write down what is left. It lies on the disk of the state directory.
import { join } from 'node:path'
import { isNoSpace, keptSpace, type KeptSpace } from '../paths/kept-space.ts'

/** A lock and a journal, each in blocks of its own. */
const reserveBytes = 16 * 1024

/** Beside the lock. */
const spaceIn = (stateDir: string): KeptSpace =>
  keptSpace(join(stateDir, 'locks', 'placeholders.reserve'), reserveBytes)

/** Under the lock. Throws ENOSPC when there is no room for it. */
export function holdReserve(stateDir: string): void {
  const space = spaceIn(stateDir)
  if (space.size() < reserveBytes) space.grow()
}

/** What takes things away, done again with some of the reserve given up where it finds no room. The next who lays something keeps it anew. */
export async function withReserve<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isNoSpace(error) || !spaceIn(stateDir).give(0)) throw error
    }
  }
}

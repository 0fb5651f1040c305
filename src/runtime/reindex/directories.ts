// Directories below a directory. One that is not there is empty; one that may not be read is told.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'

export interface Found {
  readonly name: string
  readonly path: string
}

/** Without those whose name begins with a dot: such a one is just being made, or somebody else's. Links are no directories. */
export function directoriesIn(place: string): readonly Found[] {
  try {
    return readdirSync(place, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => ({ name, path: join(place, name) }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw new GloveboxError('NOT_PERMITTED', 'Cannot index the files: a directory cannot be read', {
      hint: 'Run it as the user that the server runs as.',
      operatorDetail: error instanceof Error ? error.message : String(error),
    })
  }
}

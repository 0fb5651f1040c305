// What lies where the database is to be. A path that a person wrote may lead to anything of his: only a file that is SQLite's by its
// first bytes, or that has none yet, is opened, locked or put aside.
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { GloveboxError } from '../../errors/error.ts'

const header = Buffer.from('SQLite format 3\0')

/** Whose file it is: ours by its place, which nobody else writes to, or whatever a person named. */
export type Origin = 'own' | 'named'

/** Throws before anything is touched. */
export function refuseForeignFile(path: string, origin: Origin): void {
  const seen = statSync(path, { throwIfNoEntry: false })
  if (seen === undefined) return
  // Opening a FIFO would wait for ever.
  if (!seen.isFile()) throw refusal(`there is ${seen.isDirectory() ? 'a directory' : 'no regular file'}`, path)
  // Ours may have lost its first bytes: that is damage like any other.
  if (origin === 'own' || seen.size === 0 || startsAsSqlite(path)) return
  throw refusal('the file is not one of SQLite', path)
}

function startsAsSqlite(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const found = Buffer.alloc(header.length)
    return readSync(file, found, 0, found.length, 0) === header.length && found.equals(header)
  } finally {
    closeSync(file)
  }
}

const refusal = (cause: string, path: string): GloveboxError =>
  new GloveboxError('INVALID_SETTINGS', `Cannot open the database: where it is to be, ${cause}`, {
    hint: 'Name a file that is not there yet, as sqlite:/path/to/file.db, or take away what is there. Nothing was changed.',
    operatorDetail: path,
  })

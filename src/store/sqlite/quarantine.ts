// A damaged database is neither mended nor deleted: it is put aside whole, with its log, and a new one begins empty. A note beside it
// says so until the index is made anew: whoever was to do that may be killed first, and an empty database looks like a new one.
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { isErrno } from '../../paths/refusal.ts'

/** The files of one database. The shared-memory file is of no use without the processes that had it open. */
const parts = ['', '-wal', '-shm'] as const

const noteOf = (path: string): string => `${path}.unindexed`

/** The new path of the database file. */
export function quarantine(path: string): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const target = `${path}.damaged-${time}-${randomBytes(3).toString('hex')}`
  leaveNote(noteOf(path), target)
  for (const part of parts) if (existsSync(`${path}${part}`)) renameSync(`${path}${part}`, `${target}${part}`)
  return target
}

function leaveNote(note: string, text: string): void {
  const file = openSync(note, 'w', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Where the database was put whose index has not been made anew since. */
export function unindexedSince(path: string): string | undefined {
  try {
    return readFileSync(noteOf(path), 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

export const takeNoteAway = (path: string): void => rmSync(noteOf(path), { force: true })

// What came of reading the files of execs and runs into the database.
import { isGloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'

export interface Unreadable {
  /** Host path, for the operator. */
  readonly place: string
  readonly why: string
}

export interface ReindexReport {
  readonly execs: number
  readonly runs: number
  /** Left as they are: a record that cannot be read is never guessed at. */
  readonly unreadable: readonly Unreadable[]
  /** Runs that the database speaks of and whose directory is gone. */
  readonly missing: readonly string[]
}

/** One file that the disk does not give, or that somebody may not read, keeps nobody from the others. */
export function whyUnreadable(error: unknown): string {
  if (isGloveboxError(error)) return error.message
  if (isErrno(error)) return `it cannot be read (${error.code})`
  throw error
}

/** What was read, or why it could not be. */
export function readable<T>(read: () => T): T | string {
  try {
    return read()
  } catch (error) {
    return whyUnreadable(error)
  }
}

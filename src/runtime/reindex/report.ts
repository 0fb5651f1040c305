// What came of reading the files of execs and runs into the database.

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

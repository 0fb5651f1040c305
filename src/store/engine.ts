// What the tables need of a database: reads, and writes that happen wholly or not at all. Each engine keeps its own promises
// behind this: waiting with a bound, retrying only what is known not to have happened, one error for whoever asked.
import type { WriteOptions } from '../contract/store.ts'
import type { Database } from './tables.ts'

/** May run more than once, so it does nothing but ask the database. */
export type Work<T> = (database: Database) => Promise<T>

export interface Engine {
  readonly kind: 'sqlite' | 'postgres'
  read<T>(work: Work<T>): Promise<T>
  /** In one transaction. Resolves only when it is committed. */
  write<T>(work: Work<T>, options?: WriteOptions): Promise<T>
  /** The same for steps of the schema, which may take minutes, as may those of another server that are waited for. */
  change<T>(work: Work<T>): Promise<T>
  /** Of the engine, as it says itself. Throws where the database takes no writes, and remembers nothing that is read next. */
  version(): Promise<string>
  close(): Promise<void>
}

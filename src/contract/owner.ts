// Servers that live, as the store lists them: each owns the execs that it works on.
import type { Timestamp } from './store.ts'

/**
 * A living server. Its `beat` counts up while it lives; whether it does is told by whoever sees the count stand still on
 * their own monotonic clock, never by comparing times of day.
 */
export interface OwnerRow {
  readonly owner: string
  /** Facts that let a neighbour on the same machine tell at once: boot id, pid, start time. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly beat: number
  readonly created_at: Timestamp
}

export interface OwnerTable {
  add(owner: Omit<OwnerRow, 'beat'>): Promise<void>
  /** The new count. Undefined: the owner was declared dead, and must stop what it does under this name. */
  beat(owner: string): Promise<number | undefined>
  list(): Promise<readonly OwnerRow[]>
  remove(owner: string): Promise<void>
}

// An outcome that is another one than bwrap's, and why.
import type { Outcome } from './row.ts'

export interface Declared {
  readonly outcome: Outcome
  readonly why: string
}

export const notThere = (why: string): Declared => ({ outcome: 'does not apply', why })
/** Stopped there as well, by something else. The test runs. */
export const held = (by: string): Declared => ({ outcome: 'blocked', why: by })
export const open = (why: string): Declared => ({ outcome: 'not a boundary', why })

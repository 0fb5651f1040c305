// A change of which nobody can tell whether it took place. It is an error as any other of its code to whoever only tells it, and not
// to whoever would undo what belongs to the change.
import { isGloveboxError } from './error.ts'

/** Among the facts of the error. */
export const inDoubt = { outcome: 'unknown' } as const

export const isInDoubt = (error: unknown): boolean =>
  isGloveboxError(error) && error.facts['outcome'] === inDoubt.outcome

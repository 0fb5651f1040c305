// One attack: what is tried, what stops it, and for which backend that is promised. SECURITY.md is made of these.
export type Outcome = 'blocked' | 'not a boundary'

export interface AttackRow {
  readonly area: string
  /** The title of the test, word for word. */
  readonly title: string
  readonly defence: string
  /** Where it was met in the wild. */
  readonly seen?: string
  readonly bwrap: Outcome
  readonly local: Outcome
  /** Why it is not stopped; demanded for `not a boundary` on bwrap. */
  readonly why?: string
}

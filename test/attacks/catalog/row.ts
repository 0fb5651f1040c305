// One attack: what is tried, what stops it, and for which backend that is promised. SECURITY.md is made of these.
/** `does not apply`: it is an attack on something that this backend has not. */
export type Outcome = 'blocked' | 'not a boundary' | 'does not apply'

export interface AttackRow {
  readonly area: string
  /** The title of the test, word for word. */
  readonly title: string
  readonly defence: string
  /** Where it was met in the wild. */
  readonly seen?: string
  readonly bwrap: Outcome
  readonly local: Outcome
  /** Absent: as on bwrap. See catalog/docker.ts. */
  readonly docker?: Outcome
  /** Why it is not stopped; demanded for `not a boundary` on bwrap. */
  readonly why?: string
}

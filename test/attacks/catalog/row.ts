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
  /** Absent: as on bwrap, if the test runs there as well; see reach.ts and catalog/docker.ts. */
  readonly docker?: Outcome
  /** Why no backend has a part in it: the test runs once, and its outcome holds on each of them. */
  readonly hostSide?: string
  /** Why it is not stopped; demanded for `not a boundary` on bwrap. */
  readonly why?: string
}

type Made = (title: string, text: string, more?: Partial<AttackRow>) => AttackRow

/** Rows of one area as most of them are: held by every boundary but `local`, or by none, with the reason. */
export function rowsOf(
  area: string,
  { local = 'not a boundary', ...more }: { readonly local?: Outcome } & Pick<AttackRow, 'hostSide'> = {},
): { readonly blocked: Made; readonly open: Made } {
  const row = { area, local, ...more }
  return {
    blocked: (title, defence, more) => ({ ...row, title, defence, bwrap: 'blocked', ...more }),
    open: (title, why, more) => ({ ...row, title, defence: 'none', bwrap: 'not a boundary', why, ...more }),
  }
}

// What a replay finds out, as data: for people it becomes lines, for machines JSON. Nothing here is a guess told as a fact:
// a cause says by what it was recognised, and is absent where nothing was.

const causeKinds = ['time', 'random', 'process_id', 'duration', 'environment', 'earlier_difference'] as const

/** Likely, never certain. */
export interface Cause {
  readonly kind: (typeof causeKinds)[number]
  /** By what it was recognised. */
  readonly because: string
}

export type Part = 'ended' | 'stdout' | 'stderr' | 'answer' | 'error'

/** The first byte that differs, and what stands around it: printable ASCII, all else escaped. */
export interface Place {
  readonly offset: number
  /** The same on both sides, up to the offset. */
  readonly before: string
  readonly original: string
  readonly replayed: string
}

export interface Difference {
  readonly part: Part | 'content' | 'kind' | 'mode' | 'target' | 'presence'
  /** Null where there are no bytes of both sides to lay beside each other. */
  readonly place: Place | null
  /** A sentence for what has no bytes: an exit code, an error, a hash. */
  readonly detail: string
  readonly cause: Cause | null
}

export type Result = 'identical' | 'differs' | 'not_comparable' | 'not_repeated'

export interface Comparison {
  readonly number: number
  readonly action: string
  /** The command or the path, on one line, cut. */
  readonly about: string
  readonly result: Result
  /** Why it could not be compared, or not be repeated. */
  readonly reason: string | null
  readonly differences: readonly Difference[]
  /** Of these only the beginning was kept, and so only the beginning was compared. */
  readonly cut: readonly { readonly part: Part; readonly comparedBytes: number; readonly bytes: number }[]
  /** Variables that it had then, and whose values nobody gave now. */
  readonly notSupplied: readonly string[]
  /** It ran beside another action then, and after it now. */
  readonly overlapped: boolean
}

export interface Tally {
  readonly identical: number
  readonly differs: number
  readonly notComparable: number
  readonly notRepeated: number
}

export function tally(results: readonly { readonly result: Result }[]): Tally {
  const count = (wanted: Result): number => results.filter(({ result }) => result === wanted).length
  return {
    identical: count('identical'),
    differs: count('differs'),
    notComparable: count('not_comparable'),
    notRepeated: count('not_repeated'),
  }
}

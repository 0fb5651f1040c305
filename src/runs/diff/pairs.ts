// What became of each path, from one moment to another: the entry before and the entry after. Pure.
import type { Change, TreeEntry } from '../../contract/recorded-action.ts'
import { entryAfter, keyOfPath } from '../changes/fold.ts'

export interface Pair {
  readonly before: TreeEntry | undefined
  readonly after: TreeEntry | undefined
  /** Of the entry before, only the content is known: that it changed is, and how is not. */
  readonly isPartlyKnown?: boolean
}

export type Pairs = ReadonlyMap<string, Pair>

/**
 * What one change set did to a state. A path that the state does not list, though it was there, lies in a layer under the
 * workspace: then the change itself tells as much as is known.
 */
export function pairsOf(state: ReadonlyMap<string, TreeEntry>, changes: readonly Change[]): Pairs {
  return new Map(
    changes.map((change): [string, Pair] => {
      const key = keyOfPath(change)
      const after = change.change === 'deleted' ? undefined : entryAfter(change)
      if (change.change === 'created') return [key, { before: undefined, after }]
      const known = state.get(key)
      return [key, { before: known ?? told(change), after, isPartlyKnown: known === undefined }]
    }),
  )
}

/** As it was before, as far as the change tells. */
const told = (change: Change): TreeEntry => ({
  ...entryAfter(change),
  sha256: change.before_sha256,
  size: change.change === 'deleted' ? change.size : null,
})

/** One after the other. What came and went again, and what is as it was, is no difference. */
export function joined(parts: Iterable<Pairs>): Pairs {
  const whole = new Map<string, Pair>()
  for (const pairs of parts) {
    for (const [key, pair] of pairs) {
      const earlier = whole.get(key)
      whole.set(key, earlier === undefined ? pair : { ...earlier, after: pair.after })
    }
  }
  return new Map([...whole].filter(([, pair]) => isDifferent(pair)))
}

function isDifferent({ before, after, isPartlyKnown = false }: Pair): boolean {
  if (before === undefined || after === undefined) return before !== after
  // Contents that nobody hashed may be others.
  const isUnknown = after.kind === 'file' && (before.sha256 === null || after.sha256 === null)
  return (
    isPartlyKnown ||
    isUnknown ||
    before.kind !== after.kind ||
    before.sha256 !== after.sha256 ||
    before.mode !== after.mode ||
    before.target !== after.target
  )
}

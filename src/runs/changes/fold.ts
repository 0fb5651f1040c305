// Change sets on top of a state give the next state. Pure.
import type { Change, ChangeSet, TreeEntry } from '../../contract/recorded-action.ts'

/** The key of an entry: its path, or the bytes of one that is no UTF-8. Two paths may look alike; two keys do not. */
export const keyOfPath = ({ path, path_base64 }: Pick<TreeEntry, 'path' | 'path_base64'>): string =>
  path_base64 === null ? path : `base64:${path_base64}`

export type Entries = ReadonlyMap<string, TreeEntry>

export const entriesByPath = (entries: Iterable<TreeEntry>): Map<string, TreeEntry> =>
  new Map([...entries].map((entry) => [keyOfPath(entry), entry]))

export function fold(entries: Map<string, TreeEntry>, changes: readonly Change[]): void {
  for (const change of changes) {
    const key = keyOfPath(change)
    if (change.change === 'deleted') entries.delete(key)
    else entries.set(key, entryAfter(change))
  }
}

export const entryAfter = ({ path, path_base64, kind, after_sha256, size, mode, target, kept }: Change): TreeEntry => ({
  path,
  path_base64,
  kind,
  sha256: after_sha256,
  size,
  mode,
  target,
  kept,
})

/** In order, a directory before what is in it. */
export const inOrder = (entries: Entries): Entries => new Map([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)))

const reasons: Readonly<Record<ChangeSet['stopped'][number], string>> = {
  entries: 'there were more entries than are watched',
  depth: 'directories were nested deeper than is watched',
  bytes: 'files were too large to be hashed',
  unreadable: 'something could not be read',
  concurrent: 'something else was at work in the same files',
}

/** A sentence if it may not be all. */
export function gapIn(what: string, found: Pick<ChangeSet, 'complete' | 'stopped'>): readonly string[] {
  if (found.complete) return []
  return [`${what} may not be all: ${found.stopped.map((reason) => reasons[reason]).join('; ')}.`]
}

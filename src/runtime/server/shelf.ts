// What is kept for readers that may come back, up to a total; the oldest makes room.

export interface Shelf {
  /** `remove` is called when there is no room for it any more. The answer takes it off before that, and calls nothing. */
  put(bytes: number, remove: () => void): () => void
}

/** What says nothing is held all the same: its result, its journal and what they refer to. */
export const entryBytes = 8 * 1024

export function openShelf(maxBytes: number): Shelf {
  const kept = new Set<{ readonly bytes: number; readonly remove: () => void }>()
  let total = 0
  return {
    put(said, remove) {
      const entry = { bytes: said + entryBytes, remove }
      const takeOff = (): void => {
        if (kept.delete(entry)) total -= entry.bytes
      }
      kept.add(entry)
      total += entry.bytes
      for (const oldest of kept) {
        if (total <= maxBytes) break
        kept.delete(oldest)
        total -= oldest.bytes
        oldest.remove()
      }
      return takeOff
    },
  }
}

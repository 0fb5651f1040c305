// What is kept for readers that may come back, up to a total; the oldest makes room.

export interface Shelf {
  /** `remove` is called when there is no room for it any more. */
  put(bytes: number, remove: () => void): void
}

export function openShelf(maxBytes: number): Shelf {
  const kept: { readonly bytes: number; readonly remove: () => void }[] = []
  let total = 0
  return {
    put(bytes, remove) {
      kept.push({ bytes, remove })
      total += bytes
      while (total > maxBytes) {
        const oldest = kept.shift()
        if (oldest === undefined) return
        total -= oldest.bytes
        oldest.remove()
      }
    },
  }
}

// How many bytes each token has in the server's memory of one kind, and all of them together. What may be had is not its to say.

export interface HeldBytes {
  readonly total: number
  of(who: string): number
  /** Less than nothing gives back. */
  change(who: string, bytes: number): void
}

export function countHeldBytes(): HeldBytes {
  const heldBy = new Map<string, number>()
  let total = 0
  const of = (who: string): number => heldBy.get(who) ?? 0
  return {
    get total() {
      return total
    },
    of,
    change(who, bytes) {
      const held = of(who) + bytes
      // Whoever has nothing is not remembered.
      if (held === 0) heldBy.delete(who)
      else heldBy.set(who, held)
      total += bytes
    },
  }
}

// Who has asked for something lately. Whoever is alone may have the whole server; who is not, shares it.

export interface Presence {
  /** A request of this caller has come. */
  seen(who: string): void
  /** Nobody else has asked for anything lately. */
  isAlone(who: string): boolean
  /** Somebody has asked for something lately. */
  isAnybodyThere(): boolean
}

/** Whoever has asked for something so recently is there. */
const presentMs = 250

export function createPresence(now: () => number = () => performance.now()): Presence {
  let last = ''
  let lastAt = Number.NEGATIVE_INFINITY
  /** When somebody else than the last was seen. */
  let otherAt = Number.NEGATIVE_INFINITY

  return {
    seen(who) {
      if (who !== last) {
        otherAt = lastAt
        last = who
      }
      lastAt = now()
    },
    isAlone: (who) => now() - (last === who ? otherAt : lastAt) > presentMs,
    isAnybodyThere: () => now() - lastAt <= presentMs,
  }
}

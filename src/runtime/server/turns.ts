// So many at a time, and fair to those who wait: one turn for each in the round, however many each of them asks for. Between two turns
// comes whatever else has arrived: a crowd that makes sandboxes would otherwise keep those who have theirs from using it.

export interface Turns {
  /** Settles when it is the caller's turn; what it settles with gives the turn back. */
  take(who: string): Promise<() => void>
}

export function openTurns(most: number): Turns {
  /** In the order of the round: whoever was served goes to its end. */
  const waiting = new Map<string, (() => void)[]>()
  let taken = 0

  const next = (): void => {
    const [first] = waiting
    if (first === undefined || taken >= most) return
    const [who, asked] = first
    const go = asked.shift()
    waiting.delete(who)
    if (asked.length > 0) waiting.set(who, asked)
    taken += 1
    go?.()
  }
  let isComing = false
  const nextSoon = (): void => {
    if (isComing) return
    isComing = true
    setImmediate(() => {
      isComing = false
      next()
      if (waiting.size > 0 && taken < most) nextSoon()
    })
  }
  const giveBack = (): (() => void) => {
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      taken -= 1
      nextSoon()
    }
  }
  return {
    take: (who) =>
      new Promise((resolve) => {
        const asked = waiting.get(who) ?? []
        asked.push(() => resolve(giveBack()))
        waiting.set(who, asked)
        if (taken === 0 && !isComing) next()
        else nextSoon()
      }),
  }
}

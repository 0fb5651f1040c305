// Whose request begins next. Of one caller's requests one begins in each turn of the event loop, and the others wait for the next turns
// in the order in which they came, where callers are served one after another. So a wave of one caller's requests does not go before
// a single one of another's, and whoever sends one at a time waits for nobody. Behind a long turn more has come, and more may begin.

export interface Rounds {
  /** Now, if this caller has something left of this turn; else in one of the next. */
  begin(who: string, work: () => void): void
}

const longMs = 4
const behindLong = 4

export interface Turning {
  readonly nextTurn: (turn: () => void) => unknown
  readonly now: () => number
}

const ofEventLoop: Turning = { nextTurn: setImmediate, now: () => performance.now() }

export function createRounds({ nextTurn, now }: Turning = ofEventLoop): Rounds {
  const begun = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()
  let isComing = false
  let begunAt = 0
  /** Of each caller in this turn. */
  let share = 1

  const turn = (): void => {
    const at = now()
    share = at - begunAt > longMs ? behindLong : 1
    begunAt = at
    isComing = false
    begun.clear()
    for (let each = 0; each < share; each += 1) beginOneOfEach()
  }
  const beginOneOfEach = (): void => {
    for (const [who, works] of waiting) {
      const work = works.shift()
      if (works.length === 0) waiting.delete(who)
      if (work !== undefined) start(who, work)
    }
  }
  const start = (who: string, work: () => void): void => {
    begun.set(who, (begun.get(who) ?? 0) + 1)
    if (!isComing) {
      isComing = true
      nextTurn(turn)
    }
    work()
  }
  return {
    begin(who, work) {
      // Nothing has begun for a while: this is where a turn begins.
      if (!isComing) begunAt = now()
      const works = waiting.get(who)
      if (works !== undefined) works.push(work)
      else if ((begun.get(who) ?? 0) < share) start(who, work)
      else waiting.set(who, [work])
    },
  }
}

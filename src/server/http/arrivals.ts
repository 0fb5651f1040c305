// New connections, one at a time. The kernel hands over all that wait at once, and each brings a request with it: a thousand of them would be
// a tenth of a second in which nobody else is answered. Who they are is not known before they are read; so of a crowd that waits the
// first and the last come in by turns, and whoever connects behind a thousand of another's does not wait for those. While anybody
// asks for something, a crowd also leaves time between two of its own, and only few are in of whom nothing was heard yet: else all of
// them could speak in one moment.

export interface Arrival {
  /** Gives what `heard` is told when it speaks. */
  readonly begin: () => object | undefined
  readonly close: () => void
}

export interface Arrivals {
  /** Now, if none has begun in this turn; else in one of the next. */
  come(arrival: Arrival): void
  /** It has spoken, or has gone. */
  heard(begun: object): void
  /** Lets all in that wait. */
  beginAll(): void
}

export interface Turning {
  /** The next turn of the event loop. */
  readonly nextTurn: (turn: () => void) => unknown
  readonly later: (turn: () => void, ms: number) => unknown
}

export interface ArrivalRules {
  readonly isAnybodyThere: () => boolean
  /** Whoever comes while so many wait is closed. */
  readonly mostWaiting: number
}

/** So few that wait are no crowd. */
const few = 8
/** A connection and its request take a fraction of it. */
const pauseMs = 1
const mostUnheard = 4
/** Whoever says nothing for so long makes nobody wait. */
const patienceMs = 10
const ofEventLoop: Turning = { nextTurn: setImmediate, later: (turn, ms) => setTimeout(turn, ms).unref() }

export function createArrivals(
  { isAnybodyThere, mostWaiting }: ArrivalRules,
  { nextTurn, later }: Turning = ofEventLoop,
): Arrivals {
  const waiting: Arrival[] = []
  const unheard = new Set<object>()
  let isTurnComing = false
  let isLastNext = false

  const isCrowd = (): boolean => waiting.length > few && isAnybodyThere()
  const isListening = (): boolean => unheard.size >= mostUnheard && isAnybodyThere()
  const next = (): void => {
    if (isTurnComing || waiting.length === 0 || isListening()) return
    isTurnComing = true
    const turn = (): void => {
      isTurnComing = false
      next()
    }
    if (isCrowd()) later(turn, pauseMs)
    else nextTurn(turn)
    const arrival = isLastNext ? waiting.pop() : waiting.shift()
    isLastNext = !isLastNext
    if (arrival !== undefined) begin(arrival)
  }
  const begin = (arrival: Arrival): void => {
    const begun = arrival.begin()
    if (begun === undefined) return
    unheard.add(begun)
    later(() => heard(begun), patienceMs)
  }
  const heard = (begun: object): void => {
    if (unheard.delete(begun)) next()
  }
  return {
    come(arrival) {
      if (waiting.length >= mostWaiting) return arrival.close()
      waiting.push(arrival)
      next()
    },
    heard,
    beginAll() {
      for (const arrival of waiting.splice(0)) arrival.begin()
    },
  }
}

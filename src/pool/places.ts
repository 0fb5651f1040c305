// Places for running members: as many as `replicas`. Whoever finds none waits in line; for each one that waits, one parked member
// has to go. With nothing to evict and the time over, the answer is no, and when to ask again.
import type { GloveboxError } from '../errors/error.ts'
import { deferred } from './deferred.ts'
import type { Clock } from './ports.ts'
import { cancelled, draining, noPlace } from './refusals.ts'

export interface Places {
  readonly used: number
  readonly waiting: number
  /** Rejects with CAPACITY_EXCEEDED after `untilMs`. */
  take(options: { readonly untilMs: number; readonly signal?: AbortSignal | undefined }): Promise<void>
  free(): void
  /** Something came to rest: perhaps it can be evicted. */
  look(): void
  close(): void
}

export interface PlacesOptions {
  readonly replicas: number
  readonly clock: Clock
  /** Begins to end the member that was not used for longest. Undefined: there is none that may go. */
  readonly evict: () => Promise<unknown> | undefined
}

interface Waiting {
  readonly admit: () => void
  readonly refuse: (why: GloveboxError) => void
  /** Its time is over, and it waits only for what is just being evicted. */
  isLate: boolean
}

export function openPlaces({ replicas, clock, evict }: PlacesOptions): Places {
  const line: Waiting[] = []
  let used = 0
  let evicting = 0
  let isClosed = false

  const serve = (): void => {
    while (used < replicas) {
      const next = line.shift()
      if (next === undefined) return
      used += 1
      next.admit()
    }
    while (evicting < line.length) {
      const eviction = evict()
      if (eviction === undefined) return
      evicting += 1
      // One that failed is not tried again here: the reaper has it now.
      void eviction
        .catch(() => {})
        .then(() => {
          evicting -= 1
          serve()
          refuseLate()
        })
    }
  }

  const leave = (one: Waiting, why: GloveboxError): void => {
    const place = line.indexOf(one)
    if (place < 0) return
    line.splice(place, 1)
    one.refuse(why)
  }
  const refuseLate = (): void => {
    if (evicting > 0) return
    for (const one of line.filter(({ isLate }) => isLate)) leave(one, noPlace(replicas))
  }

  const wait = async (untilMs: number, signal: AbortSignal | undefined): Promise<void> => {
    const turn = deferred<void>()
    const mine: Waiting = { admit: turn.resolve, refuse: turn.reject, isLate: false }
    const done = new AbortController()
    const stop = (): void => leave(mine, cancelled())
    const giveUp = (): void => {
      mine.isLate = true
      refuseLate()
    }
    line.push(mine)
    signal?.addEventListener('abort', stop, { once: true })
    void clock.sleep(untilMs - clock.nowMs(), done.signal).then(giveUp)
    serve()
    try {
      await turn.promise
    } finally {
      done.abort()
      signal?.removeEventListener('abort', stop)
    }
  }

  return {
    get used() {
      return used
    },
    get waiting() {
      return line.length
    },
    async take({ untilMs, signal }) {
      if (isClosed) throw draining()
      if (signal?.aborted) throw cancelled()
      if (used < replicas && line.length === 0) used += 1
      else await wait(untilMs, signal)
    },
    free() {
      used -= 1
      serve()
    },
    look: serve,
    close() {
      isClosed = true
      for (const { refuse } of line.splice(0)) refuse(draining())
    },
  }
}

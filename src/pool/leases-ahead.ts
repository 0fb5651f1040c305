// Leases that were taken before anybody wanted them. A sandbox without a key may have any id, so the lease of one can be there when
// it is asked for: a disk or a database that has to be asked first costs as much as all the rest of a sandbox that was made ahead.
// Such a lease is one like all others. It is renewed with them, and after a crash it ends by its time and is cleared away with them.
import type { SandboxId } from '../contract/ids.ts'
import type { Holdings } from './holdings.ts'
import type { Clock } from './ports.ts'
import type { HeldTenure } from './tenure.ts'

export interface LeasesAhead {
  /** From now on it is the caller's, to use or to drop. Undefined: none is ready. */
  take(): HeldTenure | undefined
  /** Drops those that nobody took. */
  close(): Promise<void>
}

export interface LeasesAheadOptions {
  readonly clock: Clock
  readonly holdings: Holdings
  readonly newId: () => SandboxId
}

const mostAhead = 2
/** Whoever has asked is served first. */
const refillAfterMs = 50

export function openLeasesAhead({ clock, holdings, newId }: LeasesAheadOptions): LeasesAhead {
  const stopping = new AbortController()
  let ready: HeldTenure[] = []
  let refilling: Promise<void> | undefined

  const refill = async (): Promise<void> => {
    await clock.rest(refillAfterMs, stopping.signal)
    while (ready.length < mostAhead && !stopping.signal.aborted) {
      const taken = await holdings.take(newId())
      if (!taken.granted) return
      ready.push(taken.tenure)
    }
  }
  const startRefill = (): void => {
    if (stopping.signal.aborted) return
    // Where leases cannot be had now, the next caller asks for one himself, and is told why.
    refilling ??= refill()
      .catch(() => {})
      .finally(() => (refilling = undefined))
  }
  return {
    take() {
      // One that was lost is over already; one whose time is over may still be renewed, and waits for that.
      ready = ready.filter(({ phase }) => phase === 'held')
      const found = ready.find((tenure) => tenure.isUsable())
      ready = ready.filter((tenure) => tenure !== found)
      startRefill()
      return found
    },
    async close() {
      stopping.abort()
      await refilling
      await Promise.all(ready.splice(0).map((tenure) => holdings.drop(tenure)))
    },
  }
}

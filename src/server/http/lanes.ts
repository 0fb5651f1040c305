// How much heavy work of one caller is under way at once. Making a sandbox keeps this process and the host busy for some milliseconds at
// a time. Whoever is alone may have as much of it under way as it likes. While others ask for anything, each caller has one piece at a
// time; and a crowd of them leaves room: after each piece, others have the host for several times as long as it took, and for much longer
// if the crowd is one of somebody who was refused and came all the same.
import type { Hold } from './hold.ts'
import type { Presence } from './presence.ts'

export interface Lanes {
  /** Settles when the caller's work may begin, in the order in which it was asked for; what it settles with is called at its end. */
  take(who: string): Promise<() => void>
}

/** A piece that takes longer waits for something itself, and keeps nobody from anything: the next may begin. */
const heavyMs = 50
/** So many that wait are a crowd. */
const crowd = 8
const ofCrowd = { timesAsLong: 4, atMostMs: heavyMs } as const
const ofFlood = { timesAsLong: 100, atMostMs: 1000 } as const

interface Lane {
  taken: number
  /** Until the last of it has begun. */
  isFlood: boolean
  readonly waiting: (() => void)[]
}

export function createLanes(
  { isAlone }: Pick<Presence, 'isAlone'>,
  { wasHeld }: Pick<Hold, 'wasHeld'>,
  now: () => number = () => performance.now(),
): Lanes {
  const lanes = new Map<string, Lane>()

  const next = (who: string, lane: Lane): void => {
    while (lane.waiting.length > 0 && (lane.taken === 0 || isAlone(who))) {
      lane.taken += 1
      lane.waiting.shift()?.()
    }
    if (lane.taken === 0) lanes.delete(who)
  }
  const leaving = (who: string, lane: Lane): (() => void) => {
    const takenAt = now()
    let hasLeft = false
    const free = (): void => {
      lane.taken -= 1
      next(who, lane)
    }
    const leave = (): void => {
      if (hasLeft) return
      hasLeft = true
      clearTimeout(timer)
      lane.isFlood ||= wasHeld(who)
      const { timesAsLong, atMostMs } = lane.isFlood ? ofFlood : ofCrowd
      if (lane.waiting.length < crowd || isAlone(who)) setImmediate(free)
      else setTimeout(free, Math.min(atMostMs, timesAsLong * (now() - takenAt))).unref()
    }
    const timer = setTimeout(leave, heavyMs).unref()
    return leave
  }
  return {
    take: (who) =>
      new Promise((resolve) => {
        const lane = lanes.get(who) ?? { taken: 0, isFlood: false, waiting: [] }
        lanes.set(who, lane)
        lane.waiting.push(() => resolve(leaving(who, lane)))
        next(who, lane)
      }),
  }
}

// How much heavy work of one caller is under way at once. Making a sandbox keeps this process and the host busy for some milliseconds at
// a time. Whoever is alone may have as much of it under way as it likes. While others ask for anything, each caller has one piece at a
// time; and a crowd of them leaves room: after each piece, others have the host for several times as long as it took, and for much longer
// if the crowd is one of somebody who was refused and came all the same.
import type { Hold } from './hold.ts'
import type { Presence } from './presence.ts'

export interface Lanes {
  /** Settles when the caller's work may begin, in the order in which it was asked for. */
  take(who: string): Promise<Lane>
}

export interface Lane {
  /** To be called at its end. */
  readonly leave: () => void
  /** Many more of this caller wait behind it, and others are there. */
  readonly isOfCrowd: boolean
}

/** A piece that takes longer waits for something itself, and keeps nobody from anything: the next may begin. */
const heavyMs = 50
/** So many that wait are a crowd. */
const crowd = 8
const ofCrowd = { timesAsLong: 4, atMostMs: heavyMs } as const
const ofFlood = { timesAsLong: 100, atMostMs: 1000 } as const

interface Row {
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
  const rows = new Map<string, Row>()

  const next = (who: string, row: Row): void => {
    while (row.waiting.length > 0 && (row.taken === 0 || isAlone(who))) {
      row.taken += 1
      row.waiting.shift()?.()
    }
    if (row.taken === 0) rows.delete(who)
  }
  const isCrowd = (who: string, { waiting }: Row): boolean => waiting.length >= crowd && !isAlone(who)
  const leaving = (who: string, row: Row): (() => void) => {
    const takenAt = now()
    let hasLeft = false
    const free = (): void => {
      row.taken -= 1
      next(who, row)
    }
    const leave = (): void => {
      if (hasLeft) return
      hasLeft = true
      clearTimeout(timer)
      row.isFlood ||= wasHeld(who)
      const { timesAsLong, atMostMs } = row.isFlood ? ofFlood : ofCrowd
      if (isCrowd(who, row)) setTimeout(free, Math.min(atMostMs, timesAsLong * (now() - takenAt))).unref()
      else setImmediate(free)
    }
    const timer = setTimeout(leave, heavyMs).unref()
    return leave
  }
  return {
    take: (who) =>
      new Promise((resolve) => {
        const row = rows.get(who) ?? { taken: 0, isFlood: false, waiting: [] }
        rows.set(who, row)
        row.waiting.push(() => resolve({ leave: leaving(who, row), isOfCrowd: isCrowd(who, row) }))
        next(who, row)
      }),
  }
}

// How much heavy work of one caller is under way at once. Making a sandbox keeps this process and the host busy for some milliseconds at
// a time. Whoever is alone may have as much of it under way as it likes. While others ask for anything, each caller has one piece at a
// time; and a crowd of them leaves room: after each piece, others have the host for several times as long as it took, and for much longer
// if the crowd is one of somebody who was refused and came all the same. Of each only so many wait as will have their turn soon.
import type { GloveboxError } from '../../errors/error.ts'
import type { Hold } from './hold.ts'
import type { Presence } from './presence.ts'
import { tooMany } from './throttle.ts'

export interface Lanes {
  /** Settles when the caller's work may begin, in the order in which it was asked for. TOO_MANY_REQUESTS where it would be much too long
   * until then; the last ones first. */
  take(who: string): Promise<Lane>
  /** Of the next one that would be asked for, if so many wait already that it would be. Known before anything of it is read. */
  refusalOf(who: string): GloveboxError | undefined
}

export interface Lane {
  /** To be called at its end. */
  readonly leave: () => void
  /** Many more of this caller wait behind it, or went before it though it was told to wait; and others are there. */
  readonly isOfCrowd: boolean
}

/** A piece that takes longer waits for something itself, and keeps nobody from anything: the next may begin. */
const heavyMs = 50
/** So many that wait are a crowd. */
const crowd = 8
/** After a piece of a crowd's. */
const pauseOfCrowd = (tookMs: number): number => Math.min(heavyMs, 4 * tookMs)
/** Of a flood's. However quick the machine is: most of what one costs lies behind its answer, and the others are as quick. */
const pauseOfFloodMs = 2000
/** As many as a token may have, unless the operator says otherwise. At a crowd's pace they take some seconds. */
const mostOfCrowd = { waiting: 128, refusal: tooMany('sandboxes waiting to be made', 5) } as const
/** So many of a flood take about a minute, and whoever comes behind them can be told so. */
const mostOfFlood = { waiting: 30, refusal: tooMany('sandboxes waiting to be made', 60) } as const

interface Row {
  taken: number
  /** Until the last of it has begun. */
  isFlood: boolean
  isGettingShorter: boolean
  readonly waiting: Waiting[]
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (why: Error) => void
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
      row.waiting.shift()?.begin()
    }
    if (row.taken === 0) rows.delete(who)
  }
  const isCrowd = (who: string, { isFlood, waiting }: Row): boolean =>
    (isFlood || waiting.length >= crowd) && !isAlone(who)
  const mostOf = ({ isFlood }: Row) => (isFlood ? mostOfFlood : mostOfCrowd)
  const isTooLong = (who: string, row: Row): boolean => row.waiting.length > mostOf(row).waiting && !isAlone(who)
  /** One in each turn of the event loop: a refusal is an answer, and costs something too. */
  const shorten = (who: string, row: Row): void => {
    if (row.isGettingShorter || !isTooLong(who, row)) return
    row.isGettingShorter = true
    setImmediate(() => {
      row.isGettingShorter = false
      if (isTooLong(who, row)) row.waiting.pop()?.refuse(mostOf(row).refusal)
      shorten(who, row)
    })
  }
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
      // Whoever asks for one after another by now has no flood any more, however soon the next one comes.
      row.isFlood = wasHeld(who) || (row.isFlood && row.waiting.length > 0)
      const pauseMs = row.isFlood ? pauseOfFloodMs : pauseOfCrowd(now() - takenAt)
      if (isCrowd(who, row)) setTimeout(free, pauseMs).unref()
      else setImmediate(free)
      shorten(who, row)
    }
    const timer = setTimeout(leave, heavyMs).unref()
    return leave
  }
  return {
    take: (who) =>
      new Promise((resolve, reject) => {
        const row = rows.get(who) ?? newRow()
        rows.set(who, row)
        const begin = (): void => resolve({ leave: leaving(who, row), isOfCrowd: isCrowd(who, row) })
        row.waiting.push({ begin, refuse: reject })
        next(who, row)
        shorten(who, row)
      }),
    refusalOf(who) {
      const row = rows.get(who)
      return row === undefined || row.waiting.length < mostOf(row).waiting || isAlone(who)
        ? undefined
        : mostOf(row).refusal
    },
  }
}

const newRow = (): Row => ({ taken: 0, isFlood: false, isGettingShorter: false, waiting: [] })

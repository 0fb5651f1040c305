import { describe, expect, it } from 'vitest'
import { createArrivals } from './arrivals.ts'

/** Time stands still until somebody lets it pass. */
function stage({ isAnybodyThere = false, mostWaiting = 100 } = {}) {
  const turns: (() => void)[] = []
  const timers: { readonly dueAt: number; readonly turn: () => void }[] = []
  let now = 0
  const begun: number[] = []
  const closed: number[] = []
  const said = new Map<number, object>()
  const arrivals = createArrivals(
    { isAnybodyThere: () => isAnybodyThere, mostWaiting },
    {
      nextTurn: (turn) => turns.push(turn),
      later: (turn, ms) => timers.push({ dueAt: now + ms, turn }),
    },
  )
  let count = 0
  return {
    arrivals,
    begun,
    closed,
    come(many: number, { isMute = false } = {}): void {
      for (let each = 0; each < many; each += 1) {
        const number = ++count
        const socket = { number }
        said.set(number, socket)
        arrivals.come({
          begin: () => {
            begun.push(number)
            return isMute ? socket : undefined
          },
          close: () => closed.push(number),
        })
      }
    },
    speak: (number: number): void => arrivals.heard(said.get(number) as object),
    turn: (): void => turns.splice(0).forEach((turn) => turn()),
    pass(ms: number): void {
      now += ms
      const due = timers.filter(({ dueAt }) => dueAt <= now)
      timers.splice(0, timers.length, ...timers.filter(({ dueAt }) => dueAt > now))
      for (const { turn } of due) turn()
    },
    isTurnComing: (): boolean => turns.length > 0,
  }
}

describe('arrivals', () => {
  it('a connection that comes alone begins at once', () => {
    const { come, begun } = stage()
    come(1)
    expect(begun).toEqual([1])
  })

  it('of a crowd one begins in each turn: the one that waited longest, and the one that came last, by turns', () => {
    const { come, begun, turn } = stage()
    come(6)
    expect(begun).toEqual([1])
    turn()
    expect(begun).toEqual([1, 6])
    turn()
    come(1)
    turn()
    expect(begun, 'whoever comes behind a crowd does not wait for it').toEqual([1, 6, 2, 7])
    for (let each = 0; each < 3; each += 1) turn()
    expect(begun, 'and nobody is forgotten').toEqual([1, 6, 2, 7, 3, 5, 4])
  })

  it('when all have begun nothing is left to turn', () => {
    const { come, turn, isTurnComing } = stage()
    come(2)
    turn()
    turn()
    expect(isTurnComing()).toBe(false)
  })

  it('while somebody is there, a crowd leaves a moment between two of its own, and its last few do not', () => {
    const { come, begun, turn, pass } = stage({ isAnybodyThere: true })
    come(12)
    turn()
    // The first ones came when none was behind them.
    expect(begun).toHaveLength(2)
    turn()
    turn()
    expect(begun, 'the next turn is not theirs').toHaveLength(2)
    pass(1)
    expect(begun).toHaveLength(3)
    pass(1)
    expect(begun).toHaveLength(4)
    for (let each = 0; each < 8; each += 1) turn()
    expect(begun).toHaveLength(4)
    pass(1)
    for (let each = 0; each < 8; each += 1) turn()
    expect(begun).toHaveLength(12)
  })

  it('while somebody is there, only four are in of whom nothing was heard, until they speak or patience ends', () => {
    const { come, begun, speak, turn, pass } = stage({ isAnybodyThere: true })
    come(8, { isMute: true })
    const turnOften = (): void => Array.from({ length: 10 }).forEach(turn)
    turnOften()
    expect(begun).toHaveLength(4)
    speak(begun[0] as number)
    turnOften()
    expect(begun).toHaveLength(5)
    speak(begun[0] as number)
    turnOften()
    expect(begun, 'whoever speaks twice is heard once').toHaveLength(5)
    pass(10)
    turnOften()
    expect(begun).toHaveLength(8)
  })

  it('while nobody is there, nobody waits for those of whom nothing was heard', () => {
    const { come, begun, turn } = stage()
    come(12, { isMute: true })
    for (let each = 0; each < 12; each += 1) turn()
    expect(begun).toHaveLength(12)
  })

  it('beyond what may wait connections are closed, and those that wait begin at once when the server ends', () => {
    const { come, begun, closed, turn, arrivals } = stage({ mostWaiting: 3 })
    come(6)
    expect([begun, closed]).toEqual([[1], [5, 6]])
    arrivals.beginAll()
    expect(begun).toEqual([1, 2, 3, 4])
    turn()
    expect(begun).toEqual([1, 2, 3, 4])
  })
})

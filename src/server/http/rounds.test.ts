import { describe, expect, it } from 'vitest'
import { createRounds } from './rounds.ts'

/** `turn` takes how long the turn before it was. */
function ground() {
  const turns: (() => void)[] = []
  const begun: string[] = []
  let now = 0
  const rounds = createRounds({ nextTurn: (turn) => turns.push(turn), now: () => now })
  return {
    begun,
    begin: (who: string, name: string) => rounds.begin(who, () => begun.push(name)),
    turn: (afterMs = 0) => {
      now += afterMs
      turns.shift()?.()
    },
    get isQuiet() {
      return turns.length === 0
    },
  }
}

describe('rounds', () => {
  it('one request waits for nobody', () => {
    const { begin, begun, turn } = ground()
    begin('a', 'a1')
    expect(begun).toEqual(['a1'])
    turn()
    begin('a', 'a2')
    expect(begun).toEqual(['a1', 'a2'])
  })

  it("of a wave one begins in each turn, in its order, and another's goes before the rest of it", () => {
    const { begin, begun, turn } = ground()
    for (const name of ['a1', 'a2', 'a3']) begin('a', name)
    begin('b', 'b1')
    expect(begun).toEqual(['a1', 'b1'])
    turn()
    expect(begun).toEqual(['a1', 'b1', 'a2'])
    begin('a', 'a4')
    begin('b', 'b2')
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2'])
    turn()
    turn()
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4'])
  })

  it('two that wait are served in turn', () => {
    const { begin, begun, turn } = ground()
    for (const name of ['a1', 'a2', 'a3']) begin('a', name)
    for (const name of ['b1', 'b2', 'b3']) begin('b', name)
    turn()
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2'])
  })

  it('behind a long turn more may begin, one of each in the round', () => {
    const { begin, begun, turn } = ground()
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7']) begin('a', name)
    for (const name of ['b1', 'b2']) begin('b', name)
    turn(20)
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4', 'a5'])
    // Of a caller for whom nothing waits, as many begin at once.
    for (const name of ['b3', 'b4', 'b5', 'b6']) begin('b', name)
    expect(begun.slice(7)).toEqual(['b3', 'b4', 'b5'])
    turn()
    expect(begun.slice(10)).toEqual(['a6', 'b6'])
  })

  it('asks for no turn when nothing is left to begin', () => {
    const { begin, turn, ...rest } = ground()
    begin('a', 'a1')
    turn()
    expect(rest.isQuiet).toBe(true)
  })

  it('work that throws keeps nobody from its turn', () => {
    const turns: (() => void)[] = []
    const rounds = createRounds({ nextTurn: (turn) => turns.push(turn), now: () => 0 })
    const begun: string[] = []
    rounds.begin('a', () => begun.push('a1'))
    rounds.begin('a', () => {
      throw new Error('broken')
    })
    rounds.begin('b', () => begun.push('b1'))
    rounds.begin('b', () => begun.push('b2'))
    expect(() => turns.shift()?.()).toThrow('broken')
    turns.shift()?.()
    expect(begun).toEqual(['a1', 'b1', 'b2'])
  })
})

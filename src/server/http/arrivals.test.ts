import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createArrivals } from './arrivals.ts'

function stage() {
  const turns: (() => void)[] = []
  const begun: number[] = []
  const arrivals = createArrivals((turn) => turns.push(turn))
  const sockets: Socket[] = []
  return {
    arrivals,
    begun,
    sockets,
    come(count: number): void {
      for (let each = 0; each < count; each += 1) {
        const socket = new Socket()
        const number = sockets.push(socket)
        arrivals.come(socket, () => begun.push(number))
      }
    },
    turn: (): void => turns.splice(0).forEach((turn) => turn()),
    isTurnComing: (): boolean => turns.length > 0,
  }
}

describe('arrivals', () => {
  it('a connection that comes alone begins at once', () => {
    const { come, begun } = stage()
    come(1)
    expect(begun).toEqual([1])
  })

  it('of a crowd two begin in each turn: the one that waited longest, and the one that came last', () => {
    const { come, begun, turn } = stage()
    come(8)
    expect(begun).toEqual([1, 2])
    turn()
    expect(begun).toEqual([1, 2, 3, 8])
    come(1)
    turn()
    expect(begun, 'whoever comes behind a crowd does not wait for it').toEqual([1, 2, 3, 8, 4, 9])
    turn()
    turn()
    expect(begun, 'and nobody is forgotten').toEqual([1, 2, 3, 8, 4, 9, 5, 7, 6])
  })

  it('when all have begun nothing is left to turn', () => {
    const { come, turn, isTurnComing } = stage()
    come(3)
    turn()
    turn()
    expect(isTurnComing()).toBe(false)
  })

  it('one that has gone meanwhile is passed over, and those that wait are closed with the server', () => {
    const { come, begun, turn, sockets, arrivals } = stage()
    come(6)
    sockets[2]?.destroy()
    turn()
    expect(begun).toEqual([1, 2, 6])
    arrivals.closeNow()
    turn()
    expect(begun).toEqual([1, 2, 6])
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, true, true, true, false])
  })
})

import { describe, expect, it } from 'vitest'
import { createSurplus, shareOfConnections } from './surplus.ts'

/** A process with so many descriptors left, of which each thing that is open takes one. */
function processWith(left: number) {
  const told = { left, closedConnections: 0, connections: 1 }
  const descriptors = {
    open: (): number => {
      if (told.left === 0) throw new Error('EMFILE')
      told.left -= 1
      return 10
    },
    close: (): void => void (told.left += 1),
  }
  const closeOne = (): boolean => {
    if (told.connections === 0) return false
    told.connections -= 1
    told.left += 1
    return true
  }
  const surplus = createSurplus({ from: 64, closeOne, onSentAway: () => {} }, descriptors)
  /** As libuv does, once there is one. */
  const accept = (fd: number): boolean => {
    told.left -= 1
    const close = (): void => {
      told.closedConnections += 1
      told.left += 1
    }
    return !surplus.sendAway({ fd, close })
  }
  return Object.assign(told, { surplus, accept })
}

describe('the share of connections', () => {
  it('leaves the rest of the server a quarter of the descriptors, within bounds', () => {
    expect(shareOfConnections(20, 1024)).toBe(768)
    expect(shareOfConnections(20, 1_048_576)).toBe(1_047_552)
    expect(shareOfConnections(20, Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
    expect(shareOfConnections(20, 96)).toBe(64)
  })

  it('is never nothing', () => {
    expect(shareOfConnections(40, 64)).toBe(49)
  })
})

describe('a process without a descriptor left', () => {
  it('gives up a spare one, sends away whoever comes by it, and has a spare one again', () => {
    const told = processWith(1)
    expect(told.left).toBe(0)
    for (let times = 1; times <= 3; times++) {
      told.surplus.makeRoom()
      expect(told.left).toBe(1)
      expect(told.accept(5)).toBe(false)
      expect([told.left, told.closedConnections]).toEqual([0, times])
    }
    expect(told.connections).toBe(1)
    told.left = 1
    expect(told.accept(5)).toBe(true)
  })

  it('that was robbed of the spare one closes a connection, and says so when there is none', () => {
    const told = processWith(1)
    told.surplus.makeRoom()
    told.left = 0
    told.surplus.makeRoom()
    expect([told.left, told.connections]).toEqual([1, 0])
    told.left = 0
    expect(() => told.surplus.makeRoom()).toThrow('no descriptor is left')
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openOutputRoom, type OutputShare } from './output-room.ts'
import { entryBytes } from './shelf.ts'

describe('room for what running commands say', () => {
  it('a token gets what its share has left, and no other token is the worse for it', () => {
    const room = openOutputRoom({ outputBytesPerToken: 10 * entryBytes, outputBytes: 100 * entryBytes })
    const share = room.enter('a')
    expect(share.take(8 * entryBytes)).toBe(8 * entryBytes)
    expect(share.take(8 * entryBytes)).toBe(entryBytes)
    expect(share.take(1)).toBe(0)
    expect(() => room.enter('a')).toThrow(expect.objectContaining({ code: 'QUOTA_EXCEEDED' }))
    expect(room.enter('b').take(8 * entryBytes)).toBe(8 * entryBytes)
  })

  it('one alone has half of all at most, and one who has nothing finds room however many are there', () => {
    const room = openOutputRoom({ outputBytesPerToken: 1e9, outputBytes: 1024 * entryBytes })
    const takeAll = (who: string): number => {
      const share = room.enter(who)
      let sum = entryBytes
      for (let got = share.take(1e6); got > 0; got = share.take(entryBytes)) sum += got
      return sum / entryBytes
    }
    expect(takeAll('first')).toBeLessThanOrEqual(512 + 1)
    expect(takeAll('second')).toBeGreaterThanOrEqual(255)
    expect(takeAll('third')).toBeGreaterThanOrEqual(127)
  })

  it('everything comes back, in whatever order commands come, say and end', () => {
    const step = fc.record({ who: fc.constantFrom('a', 'b'), bytes: fc.nat(5 * entryBytes), ends: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const limits = { outputBytesPerToken: 20 * entryBytes, outputBytes: 30 * entryBytes }
        const room = openOutputRoom(limits)
        const shares: OutputShare[] = []
        for (const { who, bytes, ends } of steps) {
          try {
            shares.push(room.enter(who))
          } catch {
            shares.shift()?.leave()
          }
          shares.at(-1)?.take(bytes)
          expect(room.heldBytes).toBeLessThanOrEqual(limits.outputBytes)
          if (ends) shares.shift()?.leave()
        }
        for (const share of shares) share.leave()
        expect(room.heldBytes).toBe(0)
      }),
    )
  })
})

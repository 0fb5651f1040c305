import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHistory } from './history.ts'

describe('the history of a terminal', () => {
  it('keeps the last bytes of all that came, whatever the pieces', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 12 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), pieces, (capacity, all) => {
        const history = createHistory(capacity)
        for (const piece of all) history.append(piece)
        const whole = Buffer.concat(all)
        expect(history.end).toBe(whole.length)
        expect(history.first).toBeLessThanOrEqual(Math.max(0, whole.length - Math.min(capacity, whole.length)))
        expect(history.end - history.first).toBeLessThanOrEqual(capacity)
        expect(history.slice(history.first, capacity).equals(whole.subarray(history.first))).toBe(true)
      }),
    )
  })

  it('gives any part by its offset', () => {
    const history = createHistory(10)
    history.append(Buffer.from('abcdefghijklm'))
    expect([history.first, history.end]).toEqual([3, 13])
    expect(history.slice(5, 3).toString()).toBe('fgh')
    expect(history.slice(12, 100).toString()).toBe('m')
    expect(history.slice(13, 1).length).toBe(0)
  })
})

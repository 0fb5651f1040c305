import { describe, expect, it } from 'vitest'
import { inPieces } from './in-pieces.ts'

describe('a long list', () => {
  it('is gone through in order, and the event loop turns between its pieces', async () => {
    const turns: number[] = []
    let isOver = false
    let turn = 0
    const turning = (): void => {
      turn += 1
      if (!isOver) setImmediate(turning)
    }
    setImmediate(turning)
    const items = Array.from({ length: 100 }, (_, each) => each)
    const made = await inPieces(items, (piece) => {
      expect(piece.length).toBeLessThanOrEqual(16)
      turns.push(turn)
      return piece.map((each) => each * 2)
    })
    isOver = true
    expect(made).toEqual(items.map((each) => each * 2))
    expect(turns).toHaveLength(7)
    expect(new Set(turns).size, 'no two pieces in one turn').toBe(turns.length)
  })

  it('that is empty is not gone through', async () => {
    expect(await inPieces([], () => expect.fail('nothing is there'))).toEqual([])
  })
})

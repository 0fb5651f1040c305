import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstDifference } from '../../../executors/replay/bytes.ts'
import { differenceBetween } from './streams.ts'

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

describe('differenceBetween', () => {
  it('finds what a comparison in memory finds, however the streams are cut', async () => {
    const bytes = fc.uint8Array({ maxLength: 50, max: 3 })
    const size = fc.integer({ min: 1, max: 60 })
    await fc.assert(
      fc.asyncProperty(bytes, bytes, size, size, async (one, other, oneSize, otherSize) => {
        const found = await differenceBetween(inPieces(one, oneSize), inPieces(other, otherSize))
        expect(found?.offset).toBe(firstDifference(one, other))
      }),
    )
  })

  it.each([0, 1, 262_143, 262_144, 262_145, 600_000, 1_999_999])('finds byte %i in large streams', async (offset) => {
    const one = Buffer.alloc(2_000_000, 'a')
    const other = Buffer.from(one)
    other[offset] = 0x62
    const found = await differenceBetween(inPieces(one, 65_536), inPieces(other, 100_003))
    expect(found?.offset).toBe(offset)
    expect(found?.original[found.at]).toBe(0x61)
    expect(found?.replayed[found.at]).toBe(0x62)
  })

  it.each([0, 262_143, 262_144, 262_145, 1_000_000])('finds an end after %i bytes', async (length) => {
    const one = Buffer.alloc(1_000_001, 'a')
    const found = await differenceBetween(inPieces(one, 65_536), inPieces(one.subarray(0, length), 70_000))
    expect(found?.offset).toBe(length)
  })

  it('finds nothing between equal streams', async () => {
    const one = Buffer.alloc(1_000_001, 'a')
    expect(await differenceBetween(inPieces(one, 65_536), inPieces(one, 70_000))).toBeUndefined()
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escaped, firstDifference, placeAt } from './bytes.ts'

describe('firstDifference', () => {
  it('is the offset of the first byte that is not the same on both sides', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }), (one, other) => {
        const at = firstDifference(one, other)
        expect([...one.subarray(0, at)]).toEqual([...other.subarray(0, at)])
        expect(at === undefined || one[at] !== other[at]).toBe(true)
      }),
    )
  })

  it('finds one flipped bit far behind the first block', () => {
    const one = Buffer.alloc(3_000_001, 'x')
    const other = Buffer.from(one)
    expect(firstDifference(one, other)).toBeUndefined()
    other[2_999_999] = 0x79
    expect(firstDifference(one, other)).toBe(2_999_999)
  })

  it('is the end of the shorter one where it is the beginning of the longer', () => {
    expect(firstDifference(Buffer.from('abc'), Buffer.from('abcd'))).toBe(3)
    expect(firstDifference(Buffer.from(''), Buffer.from('d'))).toBe(0)
  })
})

describe('placeAt', () => {
  it('shows what is the same before, and what stands there on each side', () => {
    expect(placeAt(5, Buffer.from('time 10\n'), Buffer.from('time 22\n'))).toEqual({
      offset: 5,
      before: 'time ',
      original: '10\\n',
      replayed: '22\\n',
    })
  })

  it('shows bytes of any kind as printable ASCII, each text standing for one sequence of bytes', () => {
    expect(escaped(Uint8Array.of(0x1b, 0x5b, 0x6d, 0xc3, 0xa4, 9, 92))).toBe('\\x1b[m\\xc3\\xa4\\t\\\\')
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (one, other) => {
        expect(escaped(one)).toMatch(/^[ -~]*$/)
        expect(escaped(one) === escaped(other)).toBe(Buffer.compare(one, other) === 0)
      }),
    )
  })
})

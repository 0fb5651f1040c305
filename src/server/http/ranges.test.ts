import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dispositionOf, rangeOf } from './ranges.ts'

describe('rangeOf', () => {
  it('is the whole where none, several, or nonsense was asked for', () => {
    for (const header of [undefined, '', 'bytes=', 'bytes=-', 'bytes=0-1,3-4', 'items=0-1', 'bytes=5-2', 'bytes=a-b'])
      expect(rangeOf(header, 10)).toBeUndefined()
  })

  it('what begins behind the end is refused', () => {
    expect(() => rangeOf('bytes=10-', 10)).toThrow('there are 10 bytes')
    expect(() => rangeOf('bytes=0-', 0)).toThrow('there are 0 bytes')
    expect(() => rangeOf('bytes=-0', 10)).toThrow('there are 10 bytes')
  })

  it('never leaves the file', () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.option(fc.nat(1200)), fc.option(fc.nat(1200)), (size, first, last) => {
        const header = `bytes=${first ?? ''}-${last ?? ''}`
        try {
          const range = rangeOf(header, size)
          if (range === undefined) return
          expect(range.start).toBeGreaterThanOrEqual(0)
          expect(range.end).toBeLessThan(size)
          expect(range.start).toBeLessThanOrEqual(range.end)
        } catch (error) {
          expect(error).toMatchObject({ code: 'RANGE_NOT_SATISFIABLE' })
        }
      }),
    )
  })
})

describe('dispositionOf', () => {
  it('no name leaves its quotes or its line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 50 }), (name) => {
        expect(dispositionOf(name)).toMatch(
          /^attachment; filename="[A-Za-z0-9._ -]*"; filename\*=UTF-8''[A-Za-z0-9%._~!-]*$/,
        )
      }),
    )
  })
})

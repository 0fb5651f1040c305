import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { didYouMean, editDistance, suggest } from './suggest.ts'

describe('suggest', () => {
  const fields = ['timeoutMs', 'memoryMb', 'network', 'pids']

  it('finds the word behind a slip of the hand', () => {
    expect(suggest('timoutMs', fields)).toBe('timeoutMs')
    expect(suggest('netwrok', fields)).toBe('network')
    expect(suggest('memory_mb', fields)).toBe('memoryMb')
  })

  it('stays silent when nothing is near', () => {
    expect(suggest('colour', fields)).toBeUndefined()
    expect(suggest('anything', [])).toBeUndefined()
  })

  it('names every known word when none is near', () => {
    expect(didYouMean('colour', ['a', 'b'])).toBe('Known are: a, b.')
    expect(didYouMean('pid', fields)).toBe('Did you mean "pids"?')
  })
})

describe('editDistance', () => {
  it('is zero exactly for equal words, and the same in both directions', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (one, other) => {
        expect(editDistance(one, other) === 0).toBe(one === other)
        expect(editDistance(one, other)).toBe(editDistance(other, one))
      }),
    )
  })

  it('counts two letters that changed places once', () => {
    expect(editDistance('netwrok', 'network')).toBe(1)
  })
})

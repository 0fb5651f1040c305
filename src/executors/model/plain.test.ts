import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleaner, oneLine, shorten } from './plain.ts'

describe('cleaner', () => {
  it('the key is replaced wherever it stands', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z ]*$/)), (parts) => {
        expect(cleaner('sk-12345')(parts.join('sk-12345'))).toBe(parts.join('[key]'))
      }),
    )
  })

  it('without a key nothing is replaced', () => {
    expect(cleaner('')('plain')).toBe('plain')
  })

  it('terminal sequences and control characters are dropped, line breaks and tabs stay', () => {
    const clean = cleaner('')
    expect(clean('a\u001B[31mred\u001B[0m\tb\r\nc\u0000\u0007\u009B')).toBe('ared\tb\nc')
    expect(clean('\u001B]0;title\u0007x\u001B]8;;http://a\u001B\\y')).toBe('xy')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(clean(text)).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/)
      }),
    )
  })
})

describe('shorten', () => {
  it('leaves what fits, and tells how much of the rest is missing', () => {
    expect(shorten('abcdef', 6)).toBe('abcdef')
    expect(shorten('abcdefgh', 4)).toBe('ab\n… 4 characters left out …\ngh')
  })

  it('tears no pair of surrogates', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 20 }), fc.integer({ min: 2, max: 20 }), (text, max) => {
        expect(shorten(text, max)).not.toMatch(/\p{Surrogate}/u)
        expect(oneLine(text, max)).not.toMatch(/\p{Surrogate}/u)
      }),
    )
  })
})

describe('oneLine', () => {
  it('is one line of at most so many characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 50 }), (text, max) => {
        const line = oneLine(text, max)
        expect(line.length).toBeLessThanOrEqual(max)
        expect(line).not.toMatch(/[\n\r]/)
      }),
    )
  })
})

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonPieces, sha256OfJson } from './json-pieces.ts'

const whole = (value: unknown): string => [...jsonPieces(value)].join('')

describe('sha256OfJson', () => {
  it('is the hash of what it is and of the JSON, which stores remember from earlier versions', async () => {
    const value = { a: 'é'.repeat(200_000), b: undefined, c: [1, null] }
    const whole = `POST /x\n${JSON.stringify(value)}`
    expect(await sha256OfJson('POST /x', value)).toBe(createHash('sha256').update(whole).digest('hex'))
  })
})

describe('jsonPieces', () => {
  it('gives together what JSON.stringify gives at once', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(whole(value)).toBe(JSON.stringify(value))
      }),
    )
    const odd = { b: undefined, 2: [null, true, 1.5], a: { c: undefined }, '"': [] }
    expect(whole(odd)).toBe(JSON.stringify(odd))
  })

  it('parts a long text nowhere within a character, and is never long itself', () => {
    for (const text of ['😀'.repeat(100_000), `x${'😀'.repeat(100_000)}`, '\n"é'.repeat(100_000)]) {
      const pieces = [...jsonPieces({ text })]
      expect(pieces.join('')).toBe(JSON.stringify({ text }))
      // Six characters are the most that JSON makes of one.
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(6 * (64 * 1024 + 1))
    }
  })
})

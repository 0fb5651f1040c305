import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical, fingerprint } from './fingerprint.ts'

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => shuffled(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, shuffled(item)]),
  )
}

describe('the fingerprint of a config', () => {
  it('is the same whatever the order of keys', () => {
    expect(fingerprint({ a: 1, b: { c: 2, d: [1, 2] } })).toBe(fingerprint({ b: { d: [1, 2], c: 2 }, a: 1 }))
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium' }), (value) => canonical(shuffled(value)) === canonical(value)),
    )
  })

  it('differs when a value, a key or the order of a list differs', () => {
    const texts = [{ a: 1 }, { a: 2 }, { b: 1 }, { a: '1' }, { a: [1, 2] }, { a: [2, 1] }, { a: null }, {}].map(
      (value) => canonical(value),
    )
    expect(new Set(texts).size).toBe(texts.length)
  })

  it('is of a form that is JSON and means the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // JSON has no minus zero.
        expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('is refused for what has no exact form', () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    for (const bad of [NaN, Infinity, undefined, () => 1, new Date(0), new Map(), 1n, { a: [undefined] }, circle]) {
      expect(() => fingerprint(bad)).toThrow('Cannot take the fingerprint')
    }
  })
})

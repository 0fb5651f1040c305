import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from './json-text.ts'

const limits = { jsonDepth: 32, jsonEntries: 1000 }
const refusal = (text: string): string => {
  try {
    parseJson(text, limits)
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  return ''
}

/** Names as JSON.parse takes them, but for the one that is refused. */
const hasOddName = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, inner]) => name === '__proto__' || hasOddName(inner))

describe('parseJson', () => {
  it('reads what JSON.stringify writes, as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), (value) => {
        fc.pre(!hasOddName(value))
        const text = JSON.stringify(value)
        const isWellFormed = !/\\u[dD][89a-fA-F]/.test(text)
        fc.pre(isWellFormed)
        expect(parseJson(text, limits)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('refuses exactly what JSON.parse refuses, of texts without doubled names', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('{}[],:"\\ 10aeu-.')), maxLength: 20 }), (text) => {
        const isJson = ((): boolean => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        const told = refusal(text)
        if (isJson) expect(told === '' || told.includes('twice')).toBe(true)
        else expect(told).not.toBe('')
      }),
      { numRuns: 2000 },
    )
  })

  it('a name that is given twice is refused, however it is written', () => {
    expect(refusal('{"a":1,"a":2}')).toContain('"a" twice')
    expect(refusal('{"a":1,"\\u0061":2}')).toContain('"a" twice')
    expect(refusal('{"a":{"b":1},"b":{"a":1}}')).toBe('')
    expect(refusal('[{"a":1},{"a":2}]')).toBe('')
    expect(refusal('{"a":"\\"a\\":1","b":["a","a"]}')).toBe('')
  })

  it('depth and number of entries have a limit', () => {
    expect(refusal(`${'['.repeat(32)}${']'.repeat(32)}`)).toBe('')
    expect(refusal(`${'['.repeat(33)}${']'.repeat(33)}`)).toContain('deeper')
    expect(refusal(`[${'1,'.repeat(1000)}1]`)).toBe('')
    expect(refusal(`[${'1,'.repeat(1001)}1]`)).toContain('more than 1000')
    expect(refusal('"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["')).toBe('')
  })

  it('half a surrogate pair is refused, a whole one is not', () => {
    expect(refusal('{"a":"\\ud83d"}')).toContain('surrogate')
    expect(refusal('{"\\udc00":1}')).toContain('surrogate')
    expect(parseJson('"\\ud83d\\ude00"', limits)).toBe('😀')
  })
})

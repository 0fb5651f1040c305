import { describe, expect, it } from 'vitest'
import { resolveEnvironment } from './environment.ts'

describe("the pool's environment", () => {
  it("takes $NAME from the operator's environment, and leaves other values as they are", () => {
    const given = { A: '$KEY', B: 'plain', C: '$$KEY', D: 'in the middle $KEY' }
    expect(resolveEnvironment(given, { KEY: 'value' })).toEqual({
      A: 'value',
      B: 'plain',
      C: '$KEY',
      D: 'in the middle $KEY',
    })
  })

  it.each(['$MISSING', '$', '$toString', '$__proto__'])('%s is an error where it is not set', (text) => {
    expect(() => resolveEnvironment({ A: text }, { KEY: 'value' })).toThrow(/not set/)
  })

  it('an empty value is a value', () => {
    expect(resolveEnvironment({ A: '$EMPTY' }, { EMPTY: '' })).toEqual({ A: '' })
  })
})

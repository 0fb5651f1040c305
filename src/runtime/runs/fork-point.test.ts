import { describe, expect, it } from 'vitest'
import { parsePoint } from './fork-point.ts'

describe('a moment in words', () => {
  it.each([
    ['12', { seq: 12 }],
    ['seq:3', { seq: 3 }],
    ['action:0', { action: 0 }],
    ['action:7', { action: 7 }],
  ])('%s is understood', (text, point) => {
    expect(parsePoint(text)).toEqual(point)
  })

  it.each(['', '0', '-1', '1.5', 'action:', 'action:-1', 'end', '1e3', ' 1'])('"%s" is refused', (text) => {
    expect(() => parsePoint(text)).toThrowError(expect.objectContaining({ code: 'INVALID_INPUT' }))
  })
})

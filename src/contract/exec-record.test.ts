import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { execCommandSchema, execInputSchema, mostWordBytes } from './exec-record.ts'

describe('the words of a command', () => {
  it('may each have as many characters as Linux takes bytes, and no more', () => {
    expect(mostWordBytes).toBe(131_071)
    const takes = (length: number): readonly boolean[] =>
      [{ command: 'x'.repeat(length) }, { args: ['-lc', 'x'.repeat(length)] }].map(
        (words) => execCommandSchema.safeParse({ kind: 'shell', ...words }).success,
      )
    expect(takes(mostWordBytes)).toEqual([true, true])
    expect(takes(mostWordBytes + 1)).toEqual([false, false])
  })
})

describe('the content of an input', () => {
  it('as base64 is exactly what the schema library takes for base64', () => {
    const takes = (content_base64: string): boolean => execInputSchema.safeParse({ path: 'a', content_base64 }).success
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('A', 'z', '0', '9', '+', '/', '=', '-', '_', ' ', '\n'), maxLength: 12 }),
        (text) => {
          expect(takes(text)).toBe(z.base64().safeParse(text).success)
        },
      ),
    )
    for (const text of ['', 'QQ==', 'QUI=', 'QUJD']) expect(takes(text), text).toBe(true)
    for (const text of ['Q', 'QQ', 'QQ=', 'Q===', '=', '====', 'QU=D', 'QQ==QQ==', 'QUJ\n'])
      expect(takes(text), text).toBe(false)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { execInputSchema } from './exec-record.ts'

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

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { beforeFirst, seal, unseal, type Unsealed } from './record.ts'

it('the record that seal gives is the one that unseal reads from its bytes', () => {
  const text = fc.string({ unit: 'binary' })
  const unsealed: fc.Arbitrary<Unsealed> = fc.record({
    actor: text,
    action: text,
    subject: text,
    outcome: fc.constantFrom('intent' as const, 'done' as const, 'failed' as const, 'unknown' as const),
    intent: fc.option(fc.nat()),
    by: fc.option(text),
    dataText: fc.dictionary(text, fc.jsonValue()).map((data) => JSON.stringify(data)),
  })
  fc.assert(
    fc.property(unsealed, fc.nat(), (one, durable) => {
      const sealed = seal(one, beforeFirst, { time: '2026-01-01T00:00:00.000Z', durable })
      expect(sealed.bytes.at(-1)).toBe(0x0a)
      expect(unseal(sealed.bytes.subarray(0, -1))).toEqual(sealed.record)
    }),
  )
})

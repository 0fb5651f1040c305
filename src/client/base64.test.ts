import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromBase64, toBase64 } from './base64.ts'
import { pathOf } from './path.ts'

describe('base64', () => {
  it('is what Node makes of the same bytes, and comes back as they were', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
        expect(fromBase64(toBase64(bytes))).toEqual(bytes)
      }),
    )
    const large = new Uint8Array(200_000).map((_, at) => at % 251)
    expect(Buffer.compare(fromBase64(toBase64(large)), large)).toBe(0)
  })
})

describe('paths of artifacts', () => {
  it('keep their slashes, and nothing else in them means anything to an address', () => {
    expect(pathOf('deliverables/a b?#%/é.md')).toBe('deliverables/a%20b%3F%23%25/%C3%A9.md')
  })

  it.each(['', 'a//b', '../x', 'a/./b', 'a/..', '/a'])('that an address would swallow are refused: %j', (path) => {
    expect(() => pathOf(path)).toThrow('Cannot read the artifact')
  })
})

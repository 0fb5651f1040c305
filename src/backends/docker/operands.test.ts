import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkImage, checkRuntime, mountOperand } from './operands.ts'

describe('the name of an image', () => {
  it.each([
    'glovebox/sandbox',
    'glovebox/sandbox:latest',
    'python:3.12-slim',
    'registry.example:5000/team/image:v1',
    `debian@sha256:${'a'.repeat(64)}`,
    `sha256:${'0'.repeat(64)}`,
  ])('%s is one', (text) => {
    expect(checkImage(text)).toBe(text)
  })

  it.each(['--privileged', '-v', '', ' a', 'a b', 'a\nb', 'UPPER', 'a:', 'a/../b', '../a', 'a;b', 'a@sha256:12', '/a'])(
    '%j is none',
    (text) => {
      expect(() => checkImage(text)).toThrow(expect.objectContaining({ code: 'INVALID_SETTINGS' }))
    },
  )

  it('whatever begins with a dash or holds a blank is refused', () => {
    fc.assert(
      fc.property(fc.string(), (rest) => {
        expect(() => checkImage(`-${rest}`)).toThrow()
        expect(() => checkImage(`a ${rest}`)).toThrow()
      }),
    )
  })
})

describe('the name of a runtime', () => {
  it.each(['runc', 'runsc', 'io.containerd.runc.v2'])('%s is one', (text) => expect(checkRuntime(text)).toBe(text))
  it.each(['--x', '', 'a b', 'a/b', '.a'])('%j is none', (text) => expect(() => checkRuntime(text)).toThrow())
})

describe('the operand of --mount', () => {
  it('is read back by a reader of comma-separated values as it was written', () => {
    const field = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\0]/.test(text) && text.trim() !== '')
    fc.assert(
      fc.property(fc.array(field, { minLength: 1, maxLength: 5 }), (fields) => {
        expect(readValues(mountOperand(fields))).toEqual(fields)
      }),
    )
  })

  it('a path with a comma, a quote, a colon and a line break stays one field', () => {
    expect(mountOperand(['type=bind', 'source=/a,b"c:d\ne'])).toBe('type=bind,"source=/a,b""c:d\ne"')
  })

  it('a carriage return is refused', () => {
    expect(() => mountOperand(['source=/a\rb'])).toThrow(expect.objectContaining({ code: 'INVALID_PATH' }))
  })
})

/** As RFC 4180 has it, and as docker's own reader does. */
function readValues(line: string): readonly string[] {
  const values: string[] = []
  const pattern = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/gy
  for (const [, quoted, plain = ''] of line.matchAll(pattern)) values.push(quoted?.replaceAll('""', '"') ?? plain)
  return values
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventParser, type ServerEvent } from './sse.ts'

const parse = (...pieces: readonly string[]): readonly ServerEvent[] => {
  const parser = createEventParser()
  return pieces.flatMap((piece) => parser.push(piece))
}

describe('server-sent events', () => {
  it('an event has its id, its kind and its data', () => {
    expect(parse('id: 7\nevent: stdout\ndata: {"a":1}\n\n')).toEqual([{ id: '7', event: 'stdout', data: '{"a":1}' }])
  })

  it('several lines of data are joined, one space after the colon is dropped, and comments are passed over', () => {
    expect(parse(': still here\n\n:x\ndata:  a\ndata:b\ndata\n\n')).toEqual([
      { id: undefined, event: 'message', data: ' a\nb\n' },
    ])
  })

  it('an id stays until another one comes, and one with a NUL is none', () => {
    const ids = parse('id: 1\ndata: a\n\ndata: b\n\nid: 2\0\ndata: c\n\nid\ndata: d\n\n').map(({ id }) => id)
    expect(ids).toEqual(['1', '1', '1', ''])
  })

  it('an event without its empty line does not count', () => {
    expect(parse('id: 1\ndata: a\n\nid: 2\ndata: half')).toEqual([{ id: '1', event: 'message', data: 'a' }])
    expect(parse('data: a\n')).toEqual([])
  })

  it('the same events come out however the text is cut and whatever ends its lines', () => {
    const field = fc.tuple(fc.constantFrom('data', 'id', 'event', 'retry', ''), fc.stringMatching(/^[^\r\n]{0,12}$/))
    const line = fc.oneof(
      field.map(([name, value]) => `${name}: ${value}`),
      fc.constant(''),
    )
    const text = fc.array(line, { maxLength: 30 })
    fc.assert(
      fc.property(text, fc.constantFrom('\n', '\r', '\r\n'), fc.array(fc.nat(400)), (lines, end, cuts) => {
        const whole = lines.map((each) => each + end).join('')
        const places = [...new Set(cuts.map((cut) => Math.min(cut, whole.length)))].toSorted((a, b) => a - b)
        const pieces = [...places, whole.length].map((to, index) => whole.slice(places[index - 1] ?? 0, to))
        // What comes next settles whether a last carriage return stands alone.
        expect(parse(...pieces, ': end\n')).toEqual(parse(`${lines.map((each) => `${each}\n`).join('')}: end\n`))
      }),
    )
  })

  it('an event longer than the limit is refused, in one line or in many', () => {
    expect(() => createEventParser(100).push(`data: ${'x'.repeat(200)}`)).toThrow('longer than 100')
    expect(() => createEventParser(100).push('data: xxxxxxxx\n'.repeat(20))).toThrow('longer than 100')
    const parser = createEventParser(100)
    for (let count = 0; count < 50; count++) expect(parser.push('data: xxxxxxxx\n\n')).toHaveLength(1)
  })
})

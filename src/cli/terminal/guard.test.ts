import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGuard } from './guard.ts'

const escape = '\u001b'
const shown = (text: string): string => Buffer.from(createGuard().pass(Buffer.from(text))).toString()

describe('what a guest may show', () => {
  it('drawing passes as it is', () => {
    const drawings = [
      'plain text, größer 日本語 😀\r\n',
      `${escape}[31;1mred${escape}[0m`,
      `${escape}[?1049h${escape}[2J${escape}[10;5H`,
      `${escape}(B${escape}7${escape}8${escape}=${escape}M${escape}c`,
      `${escape}]0;a title\u0007${escape}]2;another${escape}\\`,
      `${escape}]8;;https://example.org\u0007link${escape}]8;;\u0007`,
      `${escape}]11;?\u0007${escape}[6n${escape}[c${escape}[18t`,
      'Âé \u00c2\u00a0',
    ]
    for (const drawing of drawings) expect(shown(drawing)).toBe(drawing)
  })

  it('what reaches beyond the screen does not pass, in any spelling', () => {
    const reaching = [
      `${escape}]52;c;c3RvbGVu\u0007`,
      `${escape}]52;c;?${escape}\\`,
      `${escape}]1337;File=name=YQ==:AAAA\u0007`,
      `${escape}]9;notice\u0007`,
      `${escape}]777;notify;a;b\u0007`,
      `${escape}]50;?\u0007`,
      `${escape}]\u0007`,
      `${escape}P+q544e${escape}\\`,
      `${escape}P$qm${escape}\\`,
      `${escape}_Gt=f;L2V0Yy9wYXNzd2Q=${escape}\\`,
      `${escape}^private${escape}\\`,
      `${escape}Xstring${escape}\\`,
      `${escape}[21t`,
      `${escape}[20t`,
      `${escape}[1;1;1;1;1;1*y`,
      `${escape}[5i`,
      `${escape}[?4i`,
      '\u009d52;c;c3RvbGVu\u0007',
      '\u009d52;c;c3RvbGVu\u009c',
      '\u0090+q544e\u009c',
      '\u009b21t',
    ]
    for (const sequence of reaching) expect([sequence, shown(`a${sequence}b`)]).toEqual([sequence, 'ab'])
  })

  it('a sequence without an end holds nothing but itself', () => {
    expect(shown(`${escape}]52;c;AAAA\u0018after`)).toBe('after')
    expect(shown(`${escape}]0;${'x'.repeat(10_000)}\u0007after`)).toBe('after')
    expect(shown(`${escape}[${'1'.repeat(10_000)}mafter`)).toContain('after')
    expect(shown(`${escape}[1${escape}[31mred`)).toBe(`${escape}[31mred`)
  })

  it('the same passes, however the bytes are cut', () => {
    const parts = fc.constantFrom(
      escape,
      ']',
      '[',
      'P',
      '\\',
      '\u0007',
      '5',
      '2',
      ';',
      '?',
      'h',
      'l',
      'c',
      't',
      '\u009d',
      '\u009c',
      'é',
      'x',
    )
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 60 }), fc.array(fc.nat(40), { maxLength: 10 }), (all, cuts) => {
        const bytes = Buffer.from(all.join(''))
        const guard = createGuard()
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
        const pieces = places.slice(1).map((end, index) => guard.pass(bytes.subarray(places[index], end)))
        expect(Buffer.concat(pieces).toString('hex')).toBe(Buffer.from(createGuard().pass(bytes)).toString('hex'))
      }),
    )
  })

  it('the terminal is given back as it was', () => {
    const guard = createGuard()
    guard.pass(Buffer.from(`${escape}[?1049h${escape}[?25l${escape}[?1000;1006h${escape}[?2004h${escape}[?2004l`))
    expect(guard.farewell()).toBe(
      `${escape}[?1006l${escape}[?1000l${escape}[?1049l${escape}[?25h${escape}[!p${escape}[0m`,
    )
    expect(createGuard().farewell()).toBe(`${escape}[!p${escape}[0m`)
  })
})

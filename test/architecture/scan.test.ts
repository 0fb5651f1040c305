import { describe, expect, it } from 'vitest'
import { scan } from './scan.ts'

describe('the scanner', () => {
  it('tells comments and strings from code', () => {
    const { code, strings, comments } = scan("const a = 'x // y' // any\n/* enum\n * two */ const b = \"it's\"\n")
    expect(code).not.toMatch(/any|enum|x|it/)
    expect(strings).toEqual(['x // y', "it's"])
    expect(comments.map(({ text }) => text)).toEqual(['any', 'enum two'])
  })

  it('joins neighbouring line comments and keeps the line of the first', () => {
    expect(scan('a\n// one\n// two\nb\n// three\n').comments).toEqual([
      { line: 2, text: 'one two' },
      { line: 5, text: 'three' },
    ])
  })

  it('sees code inside a template, and a string inside that code', () => {
    const { code, strings } = scan("const a = `one ${f('two', { x: 1 })} three`; const b = 4")
    expect(strings).toEqual(['two', 'one ${} three'])
    expect(code).toContain('f(«0», { x: 1 })')
    expect(code).toContain('const b = 4')
  })

  it('is not led astray by a quote in a regular expression, nor by a division', () => {
    const { code, strings } = scan(`const a = /['"/]/.test(b) && x / y > 2 / z; const c = 'end'`)
    expect(strings.at(-1)).toBe('end')
    expect(code).toContain('x / y > 2 / z')
  })
})

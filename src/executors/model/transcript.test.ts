import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aboutOf, answeredText, calledText, fenced } from './transcript.ts'

describe('fenced', () => {
  it('no text ends its own fence', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('`', '\n', 'a', '~') }), (text) => {
        const lines = fenced(text, 'text').trimEnd().split('\n')
        const fence = lines.at(-1) ?? ''
        expect(lines[0]).toBe(`${fence}text`)
        expect(lines.slice(1, -1).filter((line) => line.trim().startsWith(fence))).toEqual([])
      }),
    )
  })
})

describe('a call in the transcript', () => {
  it('is a command where it is nothing else, and JSON otherwise', () => {
    expect(calledText({ tool: 'bash', input: { command: 'ls -l' } })).toBe('### `bash`\n\n```sh\nls -l\n```\n')
    expect(calledText({ tool: 'bash', input: { command: 'ls', cwd: '/' } })).toContain('```json\n{\n  "command"')
    expect(calledText({ tool: 'bash', input: '{"comm' })).toContain('```text\n{"comm\n')
  })

  it('has a name that stays in its line', () => {
    expect(calledText({ tool: 'a`b\n# c', input: {} }).split('\n')[0]).toBe('### `` a`b # c ``')
  })

  it('has a bounded result', () => {
    expect(answeredText(true, 'x'.repeat(1_000_000)).length).toBeLessThan(5000)
    expect(answeredText(false, 'no')).toContain('Refused:')
  })
})

describe('aboutOf', () => {
  it('is the argument that tells a person most, in one line', () => {
    expect(aboutOf({ command: 'a\nb' })).toBe('a b')
    expect(aboutOf({ path: '/workspace', pattern: '*.ts' })).toBe('*.ts')
    expect(aboutOf({ file_path: 'x', content: 'y' })).toBe('x')
    expect(aboutOf({})).toBe('')
    expect(aboutOf(null)).toBe('')
    expect(aboutOf('text')).toBe('')
  })
})

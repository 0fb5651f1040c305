import { describe, expect, it } from 'vitest'
import type { FileDiff, Side } from '../../../runs/diff/model.ts'
import { actionHead, fileText, nameLines, openPens, statText, summaryText } from './diff-text.ts'

const plain = await openPens({ colour: false } as never)
const coloured = await openPens({ colour: true } as never)
const options = { pens: plain, isFull: false }

const side = (path: string, more: Partial<Side> = {}): Side => ({
  path,
  kind: 'file',
  size: 4,
  mode: 0o644,
  sha256: null,
  target: null,
  ...more,
})

const text = (...lines: readonly string[]): FileDiff['content'] => ({
  kind: 'text',
  added: lines.filter((line) => line.startsWith('+')).length,
  removed: lines.filter((line) => line.startsWith('-')).length,
  hunks: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines }],
})

const changed = (content: FileDiff['content']): FileDiff => ({
  change: 'changed',
  before: side('workspace/a'),
  after: side('workspace/a'),
  content,
})

describe('diff-text', () => {
  it('shows a file with its lines', () => {
    expect(fileText(changed(text(' one', '-two', '+2')), options)).toBe(
      'changed  workspace/a  +1 −1\n@@ -1,1 +1,1 @@\n one\n-two\n+2\n',
    )
  })

  it('escape sequences in names and contents are shown, not obeyed', () => {
    const file: FileDiff = {
      change: 'created',
      before: null,
      after: side('workspace/\u001b[2J'),
      content: text('+\u001b[31mred\u0007\ttab\r'),
    }
    const shown = [fileText(file, options), statText([file], plain), nameLines([file])].join('')
    expect(shown).toContain(String.raw`workspace/\u001b[2J`)
    expect(shown).toContain(`+${String.raw`\u001b[31mred\u0007`}\ttab${String.raw`\u000d`}`)
    expect(shown.replaceAll(/[\t\n]/g, '')).not.toMatch(/\p{Cc}/u)
  })

  it('says what cannot be shown line by line', () => {
    const sizes = { before: side('workspace/a', { size: 12 * 1024 }), after: side('workspace/a', { size: 15 * 1024 }) }
    expect(fileText({ ...changed({ kind: 'binary' }), ...sizes }, options)).toBe(
      'changed  workspace/a\n  binary, 12 KiB → 15 KiB\n',
    )
    expect(fileText({ ...changed({ kind: 'unknown' }), ...sizes }, options)).toContain(
      'content not kept, 12 KiB → 15 KiB',
    )
  })

  it('tells renames, modes, links and kinds', () => {
    const facts = (before: Side | null, after: Side | null, change: FileDiff['change'] = 'changed'): string =>
      fileText({ change, before, after, content: { kind: 'same' } }, options)
    expect(facts(side('a'), side('b'), 'renamed')).toBe('renamed  a → b\n')
    expect(facts(side('a'), side('a', { mode: 0o755 }))).toBe('changed  a\n  mode 644 → 755\n')
    const link = (target: string): Side => side('a', { kind: 'symlink', target })
    expect(facts(link('x'), link('y'))).toBe('changed  a\n  link to x → y\n')
    expect(facts(side('a', { kind: 'directory' }), side('a'))).toBe('changed  a\n  directory → file\n')
    expect(facts(null, side('d', { kind: 'directory' }), 'created')).toBe('created  d/\n')
  })

  it('cuts a long file, says how much, and shows all when asked', () => {
    const long = changed(text(...Array.from({ length: 1000 }, (_, at) => `+${at}`)))
    expect(fileText(long, options)).toContain('… 601 more lines; --full shows them')
    expect(fileText(long, { pens: plain, isFull: true }).split('\n')).toHaveLength(1003)
  })

  it('sums up in one line', () => {
    const none = { created: 0, changed: 0, deleted: 0, renamed: 0, added: 0, removed: 0 }
    expect(summaryText({ ...none, created: 3, changed: 1, added: 40, removed: 2 }, plain)).toBe(
      '3 created, 1 changed, +40 −2',
    )
    expect(summaryText(none, plain)).toBe('nothing changed')
  })

  it('puts the command above what it changed', () => {
    const action = { number: 3, action: 'run', about: 'npm test', ended: { by: 'exit', code: 1 } as const, error: null }
    const empty = {
      gaps: [],
      files: [],
      summary: { created: 0, changed: 0, deleted: 0, renamed: 0, added: 0, removed: 0 },
    }
    expect(actionHead({ ...action, ...empty }, plain)).toBe('── 3  $ npm test  (exit 1)\n')
  })

  it('colours only where it may', () => {
    expect(fileText(changed(text('+a')), { pens: coloured, isFull: false })).toContain('\u001b[32m+a\u001b[39m')
    expect(fileText(changed(text('+a')), options)).not.toContain('\u001b')
  })
})

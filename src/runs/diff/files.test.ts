import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/fixtures/cases.ts'
import type { Change, TreeEntry } from '../../contract/recorded-action.ts'
import { sha256Of } from '../changes/blobs.ts'
import { entriesByPath } from '../changes/fold.ts'
import { fileDiffs } from './files.ts'
import { summaryOf, type FileDiff } from './model.ts'
import { joined, pairsOf, type Pair } from './pairs.ts'
import { compareTexts, textIn } from './text.ts'

const kept = new Map<string, Uint8Array>()
const contents = (sha256: string): Uint8Array | undefined => kept.get(sha256)

function file(path: string, content: string | Uint8Array, more: Partial<TreeEntry> = {}): TreeEntry {
  const bytes = Buffer.from(content)
  const sha256 = sha256Of(bytes)
  kept.set(sha256, bytes)
  const plain = { path, path_base64: null, kind: 'file', target: null, mode: 0o644, kept: true } as const
  return { ...plain, sha256, size: bytes.length, ...more }
}

const directory = (path: string, mode = 0o755): TreeEntry => ({
  ...file(path, ''),
  kind: 'directory',
  sha256: null,
  size: null,
  mode,
  kept: false,
})

const link = (path: string, target: string): TreeEntry => ({
  ...file(path, ''),
  kind: 'symlink',
  target,
  sha256: sha256Of(target),
  size: target.length,
})

const diff = (...pairs: readonly [TreeEntry | undefined, TreeEntry | undefined][]): Promise<readonly FileDiff[]> =>
  fileDiffs(
    new Map(pairs.map(([before, after], index): [string, Pair] => [String(index), { before, after }])),
    contents,
  )

const brief = (files: readonly FileDiff[]): readonly string[] =>
  files.map(({ change, before, after }) => `${change} ${before?.path ?? '-'} ${after?.path ?? '-'}`)

describe('fileDiffs', () => {
  it('shows lines where both contents were kept and are text', async () => {
    const [one] = await diff([file('workspace/a', 'one\ntwo\n'), file('workspace/a', 'one\n2\nthree\n')])
    expect(one?.content).toEqual({
      kind: 'text',
      added: 2,
      removed: 1,
      hunks: [{ oldStart: 1, oldLines: 2, newStart: 1, newLines: 3, lines: [' one', '-two', '+2', '+three'] }],
    })
  })

  it('calls bytes that are no text binary, and those that were not kept unknown', async () => {
    const image = new Uint8Array([0x89, 0x50, 0, 1])
    const lost = file('workspace/b', 'x', { sha256: 'f'.repeat(64), kept: false })
    const files = await diff(
      [file('workspace/a', 'text'), file('workspace/a', image)],
      [undefined, lost],
      [undefined, file('workspace/c', 'y', { sha256: null })],
    )
    expect(files.map(({ content }) => content.kind)).toEqual(['binary', 'unknown', 'unknown'])
  })

  it('a file that is gone and one that came with the same content are a rename, and its own name is preferred', async () => {
    const files = await diff(
      [file('workspace/x', 'same'), undefined],
      [file('workspace/old/a', 'same'), undefined],
      [undefined, file('workspace/new/a', 'same')],
    )
    expect(brief(files)).toEqual(['renamed workspace/old/a workspace/new/a', 'deleted workspace/x -'])
  })

  it('empty files are never renames', async () => {
    const files = await diff([file('workspace/a', ''), undefined], [undefined, file('workspace/b', '')])
    expect(brief(files)).toEqual(['deleted workspace/a -', 'created - workspace/b'])
  })

  it('a file is the target of one rename at most', async () => {
    const files = await diff(
      [file('workspace/a', 'same'), undefined],
      [undefined, file('workspace/b', 'same')],
      [undefined, file('workspace/c', 'same')],
    )
    expect(summaryOf(files)).toMatchObject({ renamed: 1, created: 1, deleted: 0 })
  })

  it('leaves out a directory that came or went with what is in it, and shows an empty one', async () => {
    const files = await diff(
      [undefined, directory('workspace/d')],
      [undefined, file('workspace/d/a', 'a')],
      [undefined, directory('workspace/empty')],
      [directory('workspace/gone'), undefined],
      [directory('workspace/mode', 0o755), directory('workspace/mode', 0o700)],
    )
    expect(brief(files)).toEqual([
      'created - workspace/d/a',
      'created - workspace/empty',
      'deleted workspace/gone -',
      'changed workspace/mode workspace/mode',
    ])
  })

  it('a mode or a link that changed is a change without lines', async () => {
    const files = await diff(
      [file('workspace/a', 'a'), file('workspace/a', 'a', { mode: 0o755 })],
      [link('workspace/l', 'a'), link('workspace/l', 'b')],
    )
    expect(files.map(({ content }) => content)).toEqual([{ kind: 'same' }, { kind: 'same' }])
    expect(files.map(({ before, after }) => [before?.target, after?.target])[1]).toEqual(['a', 'b'])
  })
})

const change = (kind: Change['change'], { sha256, ...entry }: TreeEntry, before: string | null = null): Change => ({
  ...entry,
  change: kind,
  before_sha256: before,
  after_sha256: kind === 'deleted' ? null : sha256,
})

describe('pairs', () => {
  it('what came and went again, and what is as it was, is no difference', () => {
    const [a, b, other] = [file('workspace/a', 'a'), file('workspace/b', 'b'), file('workspace/b', 'other')]
    const state = entriesByPath([b])
    const first = pairsOf(state, [change('created', a), change('changed', other, b.sha256)])
    const second = pairsOf(entriesByPath([a, other]), [
      change('deleted', a, a.sha256),
      change('changed', b, other.sha256),
    ])
    expect(joined([first])).toHaveLength(2)
    expect(joined([first, second])).toHaveLength(0)
  })

  it('what the state does not list is told by the change itself', () => {
    const below = file('workspace/below', 'was in a layer')
    const pairs = pairsOf(new Map(), [change('deleted', below, below.sha256)])
    expect([...pairs.values()]).toMatchObject([{ before: { sha256: below.sha256 }, after: undefined }])
    const closed = { ...below, mode: 0o600 }
    expect(joined([pairsOf(new Map(), [change('changed', closed, below.sha256)])])).toHaveLength(1)
  })
})

describe('compareTexts', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'))

  it('the lines that stay and come are the text after, and those that stay and go the text before', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (before, after) => {
        const compared = await compareTexts(before, after)
        if (compared.kind !== 'text') throw new Error('it is text')
        const side = (mark: string): number =>
          compared.hunks.flatMap(({ lines }) => lines).filter((line) => line.startsWith(mark)).length
        expect([compared.added, compared.removed]).toEqual([side('+'), side('-')])
        expect(rebuilt(before, compared.hunks)).toBe(after)
      }),
      cases(300),
    )
  })

  it('texts with too little in common are shown one after the other', async () => {
    const lines = (mark: string): string => Array.from({ length: 5000 }, (_, at) => `${mark}${at}\n`).join('')
    const compared = await compareTexts(lines('a'), lines('b'))
    expect(compared).toMatchObject({ kind: 'text', added: 5000, removed: 5000, hunks: [{ oldLines: 5000 }] })
  })

  it('says where the last line has no break', async () => {
    expect(await compareTexts('', 'a')).toMatchObject({
      hunks: [{ lines: ['+a', String.raw`\ No newline at end of file`] }],
    })
  })

  it('text is UTF-8 without NUL', () => {
    expect(textIn(Buffer.from('é'))).toBe('é')
    expect(textIn(new Uint8Array([0xff]))).toBeUndefined()
    expect(textIn(new Uint8Array([97, 0]))).toBeUndefined()
  })
})

/** Applies hunks to the text before, independently of the library that made them. */
function rebuilt(before: string, hunks: Extract<FileDiff['content'], { kind: 'text' }>['hunks']): string {
  const old = before === '' ? [] : before.replace(/\n$/, '').split('\n')
  const out: string[] = []
  let at = 0
  /** The last line so far has no break. */
  let isOpen = false
  const copyUpTo = (end: number): void => {
    for (; at < end; at++) {
      out.push(old[at] ?? '')
      isOpen = at === old.length - 1 && !before.endsWith('\n')
    }
  }
  for (const { oldStart, oldLines, lines } of hunks) {
    copyUpTo(oldLines === 0 ? oldStart : oldStart - 1)
    lines.forEach((line, index) => {
      if (line.startsWith('\\')) return
      if (!line.startsWith('+')) at += 1
      if (line.startsWith('-')) return
      out.push(line.slice(1))
      isOpen = lines[index + 1]?.startsWith('\\') === true
    })
  }
  copyUpTo(old.length)
  return out.length === 0 ? '' : `${out.join('\n')}${isOpen ? '' : '\n'}`
}

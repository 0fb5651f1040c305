// Line by line. Text is what decodes as UTF-8 and holds no NUL. The library that compares is loaded when there is something to
// compare; where two texts have too little in common, they are shown one after the other, which is as true and quick.
import type { ContentDiff, Hunk } from './model.ts'

/** Beyond this many lines that differ, a comparison takes long and says little. */
const maxEdits = 2000
const contextLines = 3

export function textIn(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export async function compareTexts(before: string, after: string): Promise<ContentDiff> {
  const { structuredPatch } = await import('diff')
  const options = { context: contextLines, maxEditLength: maxEdits }
  const isOneSided = before === '' || after === ''
  const patch = isOneSided ? undefined : structuredPatch('', '', before, after, undefined, undefined, options)
  const hunks = patch?.hunks ?? wholesale(before, after)
  const count = (mark: string): number =>
    hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(mark)).length, 0)
  return { kind: 'text', added: count('+'), removed: count('-'), hunks }
}

function wholesale(before: string, after: string): readonly Hunk[] {
  const [removed, added] = [linesOf(before), linesOf(after)]
  if (removed.length + added.length === 0) return []
  return [
    {
      oldStart: removed.length === 0 ? 0 : 1,
      oldLines: removed.length,
      newStart: added.length === 0 ? 0 : 1,
      newLines: added.length,
      lines: [...marked('-', before, removed), ...marked('+', after, added)],
    },
  ]
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

const marked = (mark: string, text: string, lines: readonly string[]): readonly string[] => [
  ...lines.map((line) => `${mark}${line}`),
  ...(text === '' || text.endsWith('\n') ? [] : [String.raw`\ No newline at end of file`]),
]

// A diff as a person reads it: what became of each file in a headline, then the lines, and a sum at the end. Whatever the guest
// chose, names and contents alike, is made printable before it reaches the terminal.
import type { ActionDiff, WholeDiff } from '../../../runs/diff/diff.ts'
import { pathOf, type DiffSummary, type FileDiff, type Hunk, type Side } from '../../../runs/diff/model.ts'
import { printable, table, type Face } from '../../output.ts'
import { formatBytes } from '../../units.ts'

export interface Pens {
  readonly head: (text: string) => string
  readonly dim: (text: string) => string
  readonly added: (text: string) => string
  readonly removed: (text: string) => string
  readonly place: (text: string) => string
  readonly warn: (text: string) => string
}

export async function openPens({ colour }: Face): Promise<Pens> {
  const { createColors } = await import('picocolors').then((module) => module.default)
  const { bold, dim, green, red, cyan, yellow } = createColors(colour)
  return { head: bold, dim, added: green, removed: red, place: cyan, warn: yellow }
}

/** More lines of one file than this say little more. */
const shownLines = 400

export interface FileTextOptions {
  readonly pens: Pens
  readonly isFull: boolean
}

export function fileText(file: FileDiff, { pens, isFull }: FileTextOptions): string {
  const headline = `${pens.head(`${file.change}  ${namesOf(file)}`)}  ${countsOf(file, pens)}`.trimEnd()
  const facts = factsOf(file)
  const lines = [headline, ...facts.map((fact) => pens.dim(`  ${fact}`))]
  if (file.content.kind === 'text') lines.push(...bodyOf(file.content.hunks, { pens, isFull }))
  return `${lines.join('\n')}\n`
}

/** `a/{old → new}/b` would be shorter; whole names can be copied. */
function namesOf({ change, before, after }: FileDiff): string {
  const slash = (side: Side | null): string => (side?.kind === 'directory' ? '/' : '')
  const name = (side: Side | null): string => `${printable(side?.path ?? '')}${slash(side)}`
  return change === 'renamed' ? `${name(before)} → ${name(after)}` : name(after ?? before)
}

function countsOf({ content }: FileDiff, pens: Pens): string {
  if (content.kind !== 'text') return ''
  return [
    ...(content.added > 0 ? [pens.added(`+${content.added}`)] : []),
    ...(content.removed > 0 ? [pens.removed(`−${content.removed}`)] : []),
  ].join(' ')
}

function factsOf(file: FileDiff): readonly string[] {
  const facts = knownFacts(file)
  // Under an overlay, of what was there before only the content is known.
  return facts.length === 0 && file.change === 'changed' && file.content.kind === 'same' ? ['mode changed'] : facts
}

function knownFacts({ before, after, content }: FileDiff): readonly string[] {
  return [
    ...kindFact(before, after),
    ...(content.kind === 'binary' ? [`binary, ${sizesOf(before, after)}`] : []),
    ...(content.kind === 'unknown' ? [`content not kept, ${sizesOf(before, after)}`] : []),
    ...(content.kind === 'text' && content.hunks.length === 0 ? ['empty'] : []),
    ...modeFact(before, after),
    ...targetFact(before, after),
  ]
}

const kindWords: Readonly<Record<Side['kind'], string>> = {
  file: 'file',
  directory: 'directory',
  symlink: 'link',
  other: 'special file',
}

function kindFact(before: Side | null, after: Side | null): readonly string[] {
  if (before !== null && after !== null && before.kind !== after.kind)
    return [`${kindWords[before.kind]} → ${kindWords[after.kind]}`]
  const { kind } = after ?? before ?? { kind: 'file' }
  return kind === 'other' ? ['special file (FIFO, socket or device)'] : []
}

function sizesOf(before: Side | null, after: Side | null): string {
  const size = (side: Side): string => (side.size === null ? 'unknown size' : formatBytes(side.size))
  return [before, after]
    .filter((side): side is Side => side?.kind === 'file')
    .map(size)
    .join(' → ')
}

function modeFact(before: Side | null, after: Side | null): readonly string[] {
  const mode = (side: Side): string => side.mode.toString(8).padStart(3, '0')
  if (before !== null && after !== null)
    return before.mode === after.mode || before.kind !== after.kind ? [] : [`mode ${mode(before)} → ${mode(after)}`]
  const isProgram = after?.kind === 'file' && (after.mode & 0o111) !== 0
  return isProgram ? [`mode ${mode(after)}`] : []
}

function targetFact(before: Side | null, after: Side | null): readonly string[] {
  const targets = [before, after].map((side) => (side?.kind === 'symlink' ? printable(side.target ?? '') : undefined))
  const [was, is] = targets
  if (was === undefined && is === undefined) return []
  if (was !== undefined && is !== undefined && was !== is) return [`link to ${was} → ${is}`]
  return [`link to ${is ?? was}`]
}

function bodyOf(hunks: readonly Hunk[], { pens, isFull }: FileTextOptions): readonly string[] {
  const lines = hunks.flatMap((hunk) => [
    ...(isWhole(hunk) ? [] : [pens.place(placeOf(hunk))]),
    ...hunk.lines.map((line) => lineText(line, pens)),
  ])
  if (isFull || lines.length <= shownLines + shownLines / 4) return lines
  return [...lines.slice(0, shownLines), pens.dim(`… ${lines.length - shownLines} more lines; --full shows them`)]
}

/** Of a file that came or went there is no place to tell. */
const isWhole = ({ oldLines, newLines }: Hunk): boolean => oldLines === 0 || newLines === 0

const placeOf = ({ oldStart, oldLines, newStart, newLines }: Hunk): string =>
  `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`

// SECURITY: an escape sequence in a file must not move the operator's cursor nor hide a line of the diff.
// src/cli/commands/runs/diff-text: "escape sequences in names and contents are shown, not obeyed"
function lineText(line: string, pens: Pens): string {
  const [mark = ' ', rest] = [line[0], line.slice(1)]
  const shown = `${mark}${rest.split('\t').map(printable).join('\t')}`
  if (mark === '+') return pens.added(shown)
  if (mark === '-') return pens.removed(shown)
  return mark === '\\' ? pens.dim(shown) : shown
}

export function summaryText(summary: DiffSummary, pens: Pens): string {
  const { created, changed, deleted, renamed, added, removed } = summary
  const counts = Object.entries({ created, changed, renamed, deleted }).filter(([, count]) => count > 0)
  if (counts.length === 0) return 'nothing changed'
  const lines = [...(added > 0 ? [pens.added(`+${added}`)] : []), ...(removed > 0 ? [pens.removed(`−${removed}`)] : [])]
  return [...counts.map(([word, count]) => `${count} ${word}`), ...(lines.length > 0 ? [lines.join(' ')] : [])].join(
    ', ',
  )
}

const marks: Readonly<Record<FileDiff['change'], string>> = { created: 'A', changed: 'M', deleted: 'D', renamed: 'R' }
const barWidth = 24

/** A line for each file. The bars are to scale with the largest. */
export function statText(files: readonly FileDiff[], pens: Pens): string {
  const most = Math.max(1, ...files.map((file) => linesOf(file)))
  const rows = files.map((file) => [marks[file.change], namesOf(file), amountOf(file)])
  return table(rows)
    .map((row, index) => {
      const file = files[index]
      return `${row}${file === undefined ? '' : barOf(file, most, pens)}`.trimEnd()
    })
    .map((line) => `${line}\n`)
    .join('')
}

const linesOf = ({ content }: FileDiff): number => (content.kind === 'text' ? content.added + content.removed : 0)

function amountOf(file: FileDiff): string {
  if (file.content.kind === 'text' && file.content.hunks.length > 0) return String(linesOf(file))
  return factsOf(file).join(', ')
}

function barOf({ content }: FileDiff, most: number, pens: Pens): string {
  if (content.kind !== 'text' || content.hunks.length === 0) return ''
  const scale = most > barWidth ? barWidth / most : 1
  const long = (count: number): number => (count === 0 ? 0 : Math.max(1, Math.round(count * scale)))
  return ` ${pens.added('+'.repeat(long(content.added)))}${pens.removed('−'.repeat(long(content.removed)))}`
}

export function actionHead({ number, action, about, ended, error }: ActionDiff, pens: Pens): string {
  const words = about === '' ? action : action === 'run' ? `$ ${about}` : `${action} ${about}`
  const end = error ?? endOf(ended)
  return `${pens.head(`── ${number}  ${printable(words)}`)}${end === '' ? '' : pens.dim(`  (${printable(end)})`)}\n`
}

function endOf(ended: ActionDiff['ended']): string {
  if (ended === null) return ''
  if (ended.by === 'exit') return `exit ${ended.code}`
  if (ended.by === 'signal') return ended.signal
  if (ended.by === 'oom') return 'out of memory'
  return ended.by === 'lost' ? `lost: ${ended.reason}` : `${ended.by} after ${ended.after_ms} ms`
}

export const gapText = (gaps: WholeDiff['gaps'], pens: Pens): string =>
  gaps.map((gap) => `${pens.warn('glovebox:')} ${printable(gap)}\n`).join('')

/** One path each, of which no byte is lost: what a terminal must not see is written as JSON would. */
export const nameLines = (files: readonly FileDiff[]): string =>
  files.map((file) => `${printable(pathOf(file))}\n`).join('')

// The policy as aligned text: every field once, with its value, its ceiling, and who set each. Pure.
import type { EffectivePolicy, ExplainedField, Origin, PolicyField } from '../contract/policy.ts'
import { formatOrigin, formatValue } from './format.ts'

const lineWidth = 100
const gap = '  '
const headings = ['field', 'value', 'from', 'ceiling', 'from'] as const

type Row = readonly string[]

/** Long lists go below the table, or one of them would push every column off the screen. */
const fits = (text: string): boolean => text.length <= 32

const text = (field: PolicyField, value: unknown): string => formatValue(field, value as EffectivePolicy[PolicyField])

function cell(field: PolicyField, value: unknown): string {
  const whole = text(field, value)
  if (fits(whole)) return whole
  return Array.isArray(value) ? `${value.length} names, below` : `${whole.slice(0, whole.indexOf(':'))}, below`
}

const row = ({ field, value, from, ceiling }: ExplainedField): Row => [
  field,
  cell(field, value),
  formatOrigin(from),
  ceiling === undefined ? '–' : cell(field, ceiling.value),
  ceiling === undefined ? '' : formatOrigin(ceiling.from),
]

function align(rows: readonly Row[]): readonly string[] {
  const widths = headings.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  return rows.map((cells) =>
    cells
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd(),
  )
}

function wrap(words: readonly string[]): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > lineWidth - gap.length) {
      lines.push(gap + line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, gap + line]
}

function longList(title: string, field: PolicyField, value: unknown, from: Origin): readonly string[] {
  const whole = text(field, value)
  return fits(whole) ? [] : ['', `${title}, from ${formatOrigin(from)}:`, ...wrap(whole.split(' '))]
}

export function renderExplained(explained: readonly ExplainedField[]): string {
  const details = explained.flatMap(({ field, value, from, ceiling }) => [
    ...longList(field, field, value, from),
    ...(ceiling === undefined ? [] : longList(`ceiling of ${field}`, field, ceiling.value, ceiling.from)),
  ])
  return [...align([headings, ...explained.map(row)]), ...details].join('\n')
}

// How things are printed: errors for the operator, tables, colour. Data goes to stdout, everything else to stderr.
import { isGloveboxError } from '../errors/error.ts'
import { renderForOperator } from '../errors/render.ts'
import type { Sink } from './sink.ts'

export interface Face {
  readonly out: Sink
  readonly err: Sink
  readonly colour: boolean
}

// C0 and C1 controls, and the marks that reorder text: a guest chooses file names and error texts, and neither may
// move the operator's cursor nor make a refusal read as a success.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text that may come from the guest, on one line. The guest's own output is passed as it is; our lines are ours. */
export function printable(text: string): string {
  return text.replace(unprintable, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

export function errorLines(error: unknown, options: { readonly debug: boolean }): string {
  const shown = renderForOperator(error)
  const lines = [`glovebox: ${printable(shown.message)}`]
  if (shown.detail !== undefined) lines.push(...detailLines(shown.detail))
  const hint =
    shown.hint ?? (isGloveboxError(error) || options.debug ? undefined : 'Run it again with --debug for the stack.')
  if (hint !== undefined) lines.push(`hint: ${printable(hint)}`)
  if (options.debug && error instanceof Error && error.stack !== undefined) lines.push(error.stack)
  return `${lines.join('\n')}\n`
}

const detailLines = (detail: string): readonly string[] =>
  detail
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `detail: ${printable(line)}`)

/** Columns as wide as their widest cell; the last one is not padded. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows) row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}

export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

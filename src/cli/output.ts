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

const tokenCodes: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED', 'TOKEN_REVOKED'])
const tokenHint =
  'The token is that of GLOVEBOX_TOKEN, or of the file that --token-file or GLOVEBOX_TOKEN_FILE names. On the host of the server, `glovebox token create` makes one.'

/** A server speaks to whoever sends a header; here it is a variable or a file. */
export function shownError(error: unknown): ReturnType<typeof renderForOperator> {
  const shown = renderForOperator(error)
  const isOurs = shown.hint?.includes('GLOVEBOX_TOKEN') === true
  return tokenCodes.has(shown.code) && !isOurs ? { ...shown, hint: tokenHint } : shown
}

export function errorLines(error: unknown, options: { readonly debug: boolean }): string {
  const shown = shownError(error)
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

/** As a person's shell reads it back. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

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

// A file's text for an agent: the head is kept, and the end of what is shown says how to read on.
import { headOf } from './cut.ts'
import type { TextShown } from './results.ts'

const maxReadCharacters = 50_000
/** No character takes more than three bytes per UTF-16 unit, so this is always enough for the text shown. */
export const maxReadBytes = 3 * maxReadCharacters + 4
/** Room for the line that says where the text was cut. */
const markerRoom = 200

export interface ReadingOptions {
  /** How this tool's caller asks for later lines. */
  readonly readOn: (line: number) => string
}

export function readingText(read: TextShown, { readOn }: ReadingOptions): string {
  if (read.text === '') return '(empty)'
  if (read.text.length <= maxReadCharacters && !read.truncated) return read.text
  const first = read.startLine ?? 1
  const total = read.totalLines === undefined ? '' : ` of ${read.totalLines}`
  const head = headOf(read.text, maxReadCharacters - markerRoom)
  const shown = head.slice(0, head.lastIndexOf('\n') + 1)
  if (shown === '') {
    return `${head}\n… cut within line ${first}${total}, which is too long to be shown. Read it in parts with a command.`
  }
  const next = first + shown.split('\n').length - 1
  return `${shown}… cut after line ${next - 1}${total}. ${readOn(next)}`
}

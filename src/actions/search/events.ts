// The search program's JSON events, read with as little work as possible.
export type SearchEvent =
  | { readonly type: 'match'; readonly path: string; readonly line: number; readonly text: string }
  /** `binary`: a NUL was met, so the file is not text and its matches do not count. */
  | { readonly type: 'end'; readonly path: string; readonly binary: boolean }
  | { readonly type: 'summary' }

/**
 * The largest line is as large as the largest file searched, 1 MiB, and JSON may spell each byte with six.
 * The list of submatches comes last and may be fifty times longer; it is not needed.
 */
export const maxEventBytes = 8 * 1024 * 1024

/** Undefined for events that say nothing of use, and for a record that is no event. */
export function parseSearchEvent(record: Buffer): SearchEvent | undefined {
  const event = parseJson(withoutSubmatches(record))
  if (!isObject(event)) return undefined
  if (event.type === 'summary') return { type: 'summary' }
  const data = event.data
  if (!isObject(data)) return undefined
  const path = textOf(data.path)
  if (path === undefined) return undefined
  if (event.type === 'end') return { type: 'end', path, binary: typeof data.binary_offset === 'number' }
  const text = textOf(data.lines)
  if (event.type !== 'match' || text === undefined || typeof data.line_number !== 'number') return undefined
  return { type: 'match', path, line: data.line_number, text: text.replace(/\r?\n$/, '') }
}

/** Inside a JSON string the quotation marks would be escaped, so this text occurs only as the key itself. */
const submatchesKey = ',"submatches":['

function withoutSubmatches(record: Buffer): string {
  const at = record.indexOf(submatchesKey)
  return at === -1 ? record.toString('utf8') : `${record.toString('utf8', 0, at)}}}`
}

/** Text is given as `text`, or as base64 in `bytes` when it is not UTF-8; then shown with replacement characters. */
function textOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  if (typeof value.text === 'string') return value.text
  return typeof value.bytes === 'string' ? Buffer.from(value.bytes, 'base64').toString('utf8') : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

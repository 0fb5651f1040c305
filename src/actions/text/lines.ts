// Lines as byte ranges. A line ends after its newline; the last one may have none. Carriage returns stay.
const newline = 0x0a

export interface LineSlice {
  readonly start: number
  readonly end: number
  /** 1-based numbers of the lines inside; `lastLine` is `firstLine - 1` when there are none. */
  readonly firstLine: number
  readonly lastLine: number
  /** Did the bytes hold the slice's end, or did they stop first? */
  readonly complete: boolean
}

export function countLines(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count++
  return bytes.length > 0 && bytes[bytes.length - 1] !== newline ? count + 1 : count
}

/** Lines `first` to `last`, both included, or undefined when the bytes end before line `first` begins. */
export function sliceLines(bytes: Uint8Array, first: number, last: number): LineSlice | undefined {
  let line = 1
  let start = 0
  while (line < first) {
    const at = bytes.indexOf(newline, start)
    if (at === -1) return undefined
    start = at + 1
    line++
  }
  if (start >= bytes.length && first > 1) return undefined
  let end = start
  let next = first
  while (next <= last && end < bytes.length) {
    const at = bytes.indexOf(newline, end)
    if (at === -1) return { start, end: bytes.length, firstLine: first, lastLine: next, complete: false }
    end = at + 1
    next++
  }
  return { start, end, firstLine: first, lastLine: next - 1, complete: next > last }
}

/** Where the last `count` lines begin, or undefined when the bytes hold fewer. */
export function tailStart(bytes: Uint8Array, count: number): number | undefined {
  const terminated = bytes.length > 0 && bytes[bytes.length - 1] === newline
  let at = terminated ? bytes.length - 1 : bytes.length
  for (let left = count; left > 0; left--) {
    at = at === 0 ? -1 : bytes.lastIndexOf(newline, at - 1)
    if (at === -1) return undefined
  }
  return at + 1
}

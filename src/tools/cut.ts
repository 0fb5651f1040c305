// Cutting text to a number of characters (UTF-16 units, as a string counts them), marker included. A surrogate
// pair is never torn: half of one is no character and would be sent as a replacement mark.

/** The first `length` characters, or one less when a pair would be torn. */
export function headOf(text: string, length: number): string {
  const end = Math.min(length, text.length)
  return text.slice(0, splitsPair(text, end) ? end - 1 : end)
}

/** The last `length` characters, or one less when a pair would be torn. */
export function tailOf(text: string, length: number): string {
  const start = Math.max(0, text.length - length)
  return text.slice(splitsPair(text, start) ? start + 1 : start)
}

export interface MiddleCut {
  readonly text: string
  readonly cutCharacters: number
}

/** Keeps beginning and end. `marker` is told how much was left out, and its text counts within `max`. */
export function cutMiddle(text: string, max: number, marker: (cutCharacters: number) => string): MiddleCut {
  if (text.length <= max) return { text, cutCharacters: 0 }
  // The number in the marker is longest when everything is cut, so this room is always enough.
  const room = Math.max(0, max - marker(text.length).length)
  const head = headOf(text, Math.ceil(room / 2))
  const tail = room === 0 ? '' : tailOf(text, room - Math.ceil(room / 2))
  const cutCharacters = text.length - head.length - tail.length
  return { text: headOf(`${head}${marker(cutCharacters)}${tail}`, max), cutCharacters }
}

/** Keeps the beginning, up to a whole line where there is one. */
export function cutEnd(text: string, max: number, marker: string): string {
  if (text.length <= max) return text
  const head = headOf(text, Math.max(0, max - marker.length))
  const line = head.lastIndexOf('\n')
  return headOf(`${line > 0 ? head.slice(0, line + 1) : head}${marker}`, max)
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

const splitsPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))

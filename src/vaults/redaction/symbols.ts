// A stream as it is looked at: `%41` counts as the one byte that it stands for, and line breaks count as nothing, since
// programs wrap what is long. Each symbol knows where in the stream it began.

export const nothing = -1
/** `%` at the end of what is there so far: what follows decides. */
export const unknown = -2

export const percent = 0x25

/** The symbol that begins at `at`, and in `length` how many bytes it takes. */
export interface Seen {
  symbol: number
  length: number
}

export function look(bytes: Uint8Array, at: number, isEnd: boolean, seen: Seen): void {
  const byte = bytes[at] as number
  seen.length = 1
  seen.symbol = byte
  if (byte === 0x0a || byte === 0x0d) seen.symbol = nothing
  if (byte !== percent) return
  const high = digit(bytes[at + 1])
  if (high === undefined) {
    if (at + 1 >= bytes.length && !isEnd) seen.symbol = unknown
    return
  }
  const low = digit(bytes[at + 2])
  if (low === undefined) {
    if (at + 2 >= bytes.length && !isEnd) seen.symbol = unknown
    return
  }
  seen.symbol = high * 16 + low
  seen.length = 3
  if (seen.symbol === 0x0a || seen.symbol === 0x0d) seen.symbol = nothing
}

function digit(byte: number | undefined): number | undefined {
  if (byte === undefined) return undefined
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

/** What a whole text looks like: a value that has `%41` in it is seen as another one. */
export function strippedSymbols(bytes: Uint8Array): Uint8Array {
  const symbols: number[] = []
  const seen: Seen = { symbol: nothing, length: 1 }
  for (let at = 0; at < bytes.length; at += seen.length) {
    look(bytes, at, true, seen)
    if (seen.symbol !== nothing) symbols.push(seen.symbol)
  }
  return Uint8Array.from(symbols)
}

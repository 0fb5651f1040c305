// Finding a text in a text in linear time, whatever the two hold (Knuth, Morris and Pratt). The engine's own
// `indexOf` is quadratic on repetitive input, and the one who chooses both texts is the agent.
// UTF-8 is self-synchronising, so a match of bytes is a match of characters.

/** Every position, overlapping ones too, in order. The visitor returns false to stop. */
function eachOccurrence(bytes: Uint8Array, sought: Uint8Array, visit: (position: number) => boolean): void {
  if (sought.length === 0) return
  const borders = borderTable(sought)
  let matched = 0
  for (let index = 0; index < bytes.length; index++) {
    while (matched > 0 && bytes[index] !== sought[matched]) matched = borders[matched - 1] ?? 0
    if (bytes[index] === sought[matched]) matched++
    if (matched < sought.length) continue
    if (!visit(index - sought.length + 1)) return
    matched = borders[matched - 1] ?? 0
  }
}

export function countOccurrences(bytes: Uint8Array, sought: Uint8Array): number {
  let count = 0
  eachOccurrence(bytes, sought, () => {
    count++
    return true
  })
  return count
}

/** Positions from left to right that do not overlap: what "replace all" replaces. */
export function separateOccurrences(bytes: Uint8Array, sought: Uint8Array): readonly number[] {
  const positions: number[] = []
  let free = 0
  eachOccurrence(bytes, sought, (position) => {
    if (position >= free) {
      positions.push(position)
      free = position + sought.length
    }
    return true
  })
  return positions
}

/** For each prefix: the length of its longest proper prefix that is also its suffix. */
function borderTable(sought: Uint8Array): Int32Array {
  const borders = new Int32Array(sought.length)
  let matched = 0
  for (let index = 1; index < sought.length; index++) {
    while (matched > 0 && sought[index] !== sought[matched]) matched = borders[matched - 1] ?? 0
    if (sought[index] === sought[matched]) matched++
    borders[index] = matched
  }
  return borders
}

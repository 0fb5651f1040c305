// "Did you mean": the nearest known word, or none when nothing is near enough to be a slip of the hand.

/** Edits that turn one word into the other; two neighbouring letters that changed places count as one. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const edits = [
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        ...(swapped ? [at(beforeLast, column - 2) + 1] : []),
      ]
      current.push(Math.min(...edits))
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

export function suggest(word: string, known: readonly string[]): string | undefined {
  const asked = plain(word)
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const candidate of known) {
    const distance = editDistance(asked, plain(candidate))
    if (best === undefined || distance < best.distance) best = { word: candidate, distance }
  }
  if (best === undefined) return undefined
  return best.distance <= Math.max(1, Math.floor(best.word.length / 3)) ? best.word : undefined
}

/** A sentence for a hint: the nearest word, or all of them when none is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const nearest = suggest(word, known)
  return nearest === undefined ? `Known are: ${known.join(', ')}.` : `Did you mean "${nearest}"?`
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY

/** Case and the customary separators are the commonest slips: `timeout_ms`, `TimeoutMs`, `timeout-ms`. */
const plain = (word: string): string => word.slice(0, 100).toLowerCase().replaceAll(/[-_]/g, '')

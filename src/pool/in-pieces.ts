// Long lists, a piece at a time. Between two pieces the event loop turns: however many members there are, nobody waits for all of them.
import { setImmediate as othersFirst } from 'node:timers/promises'

/** So many looks at a file take about a millisecond. */
const inOnePiece = 16

export async function inPieces<Item, Made>(
  items: readonly Item[],
  make: (piece: readonly Item[]) => readonly Made[] | Promise<readonly Made[]>,
): Promise<readonly Made[]> {
  const made: Made[] = []
  for (let from = 0; from < items.length; from += inOnePiece) {
    if (from > 0) await othersFirst()
    made.push(...(await make(items.slice(from, from + inOnePiece))))
  }
  return made
}

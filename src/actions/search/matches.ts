// Gathers matches up to a number. The program works on several files at once, so the order is made here, and
// matches of a file that turns out to be binary are taken back: text before the first NUL is no text file.
import type { GrepMatch } from '../../contract/sandbox.ts'
import type { SearchEvent } from './events.ts'

export interface MatchCollector {
  /** Returns false once there is one more match than asked for. */
  take(event: SearchEvent | undefined): boolean
  matches(): readonly GrepMatch[]
  readonly binaryFiles: number
  /** Did the program reach its end? */
  readonly finished: boolean
}

const maxLineLength = 500

export function matchCollector(maxResults: number): MatchCollector {
  let found: GrepMatch[] = []
  let binaryFiles = 0
  let finished = false
  return {
    take(event) {
      if (event?.type === 'summary') finished = true
      if (event?.type === 'end' && event.binary) {
        binaryFiles++
        found = found.filter((match) => match.path !== event.path)
      }
      if (event?.type !== 'match') return true
      if (found.length === maxResults) return false
      found.push({ path: event.path, line: event.line, text: cutLine(event.text) })
      return true
    },
    matches: () => found.toSorted(byPlace),
    get binaryFiles() {
      return binaryFiles
    },
    get finished() {
      return finished
    },
  }
}

/** Never ends in half of a surrogate pair. */
export function cutLine(line: string): string {
  if (line.length <= maxLineLength) return line
  const end = /[\uD800-\uDBFF]/.test(line[maxLineLength - 2] ?? '') ? maxLineLength - 2 : maxLineLength - 1
  return `${line.slice(0, end)}…`
}

function byPlace(one: GrepMatch, other: GrepMatch): number {
  if (one.path !== other.path) return one.path < other.path ? -1 : 1
  return one.line - other.line
}

// The first paths of many in the order of a listing, however they come. Holds at most twice as many as are wanted, so that a cut
// list is the first part of the whole, and the same every time.

export interface FirstPaths {
  /** Returns how many have been seen. */
  take(path: string): number
  paths(): readonly string[]
  /** There were more than were wanted. */
  readonly isCut: boolean
}

export function firstPaths(wanted: number): FirstPaths {
  let kept: string[] = []
  let seen = 0
  const first = (): string[] => kept.toSorted(byPath).slice(0, wanted)
  return {
    take(path) {
      kept.push(path)
      if (kept.length >= 2 * wanted) kept = first()
      return ++seen
    },
    paths: first,
    get isCut() {
      return seen > wanted
    },
  }
}

/** Name by name: what a directory holds comes before the names that merely begin like the directory. */
export function byPath(one: string, other: string): number {
  const [left, right] = [asOrdered(one), asOrdered(other)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** No name holds NUL, and nothing comes before it. */
const asOrdered = (path: string): string => path.replaceAll('/', '\0')

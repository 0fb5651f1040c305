// All forms of all values, found in one pass over a stream, however many there are (Aho and Corasick). A state is the longest
// beginning of any form that the stream ends with; its depth is how much of the stream must be held back.

export interface Automaton {
  /** The state after one more symbol. */
  next(state: number, symbol: number): number
  /** How many symbols of a form the stream ends with. */
  depth(state: number): number
  /** The length, in symbols, of the longest form that ends here; 0 for none. */
  found(state: number): number
  /** Whose it is. */
  owner(state: number): number
  /** By symbol: the state that it leads to from the beginning; 0 where no form begins with it. */
  readonly first: Int32Array
}

export interface Pattern {
  readonly symbols: Uint8Array
  readonly owner: number
}

/** Built once for each set of values. Children are linked lists, since a form of a long key is a long chain and no bush. */
export function buildAutomaton(patterns: readonly Pattern[]): Automaton {
  const size = patterns.reduce((sum, { symbols }) => sum + symbols.length, 1)
  const firstChild = new Int32Array(size)
  const sibling = new Int32Array(size)
  const label = new Uint8Array(size)
  const depths = new Int32Array(size)
  const fallback = new Int32Array(size)
  const longest = new Int32Array(size)
  const owners = new Int32Array(size)
  let count = 1

  const child = (state: number, symbol: number): number => {
    let at = firstChild[state] as number
    while (at !== 0 && label[at] !== symbol) at = sibling[at] as number
    return at
  }
  const grow = (state: number, symbol: number): number => {
    const made = count++
    label[made] = symbol
    depths[made] = (depths[state] as number) + 1
    sibling[made] = firstChild[state] as number
    firstChild[state] = made
    return made
  }
  for (const { symbols, owner } of patterns) {
    let state = 0
    for (const symbol of symbols) state = child(state, symbol) || grow(state, symbol)
    if (longest[state] === 0) owners[state] = owner
    longest[state] = symbols.length
  }
  // Most symbols of a stream belong to no form, so that the way from the root must be short.
  const first = new Int32Array(256)
  for (let at = firstChild[0] as number; at !== 0; at = sibling[at] as number) first[label[at] as number] = at
  const next = (from: number, symbol: number): number => {
    for (let state = from; state !== 0; state = fallback[state] as number) {
      const to = child(state, symbol)
      if (to !== 0) return to
    }
    return first[symbol] as number
  }
  // By depth: what a state falls back to is nearer to the root, and has been dealt with.
  const queue: number[] = []
  for (let at = firstChild[0] as number; at !== 0; at = sibling[at] as number) queue.push(at)
  for (let head = 0; head < queue.length; head += 1) {
    const state = queue[head] as number
    const back = fallback[state] as number
    if (longest[state] === 0 && longest[back] !== 0) {
      longest[state] = longest[back] as number
      owners[state] = owners[back] as number
    }
    for (let at = firstChild[state] as number; at !== 0; at = sibling[at] as number) {
      fallback[at] = next(back, label[at] as number)
      queue.push(at)
    }
  }
  return {
    next,
    first,
    depth: (state) => depths[state] as number,
    found: (state) => longest[state] as number,
    owner: (state) => owners[state] as number,
  }
}

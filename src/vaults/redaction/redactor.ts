// One stream, with values taken out as it goes by. Bytes that could still become a value are held back until it is known that
// they do not; all others are passed on at once. It keeps no more than the longest form of any value.
import type { Redactor, RedactorOptions } from '../../contract/redaction.ts'
import type { Automaton } from './automaton.ts'
import { look, nothing, percent, unknown, type Seen } from './symbols.ts'

/** All that is looked for at some moment. More may be learned while a stream goes on. */
export interface Known {
  readonly automaton: Automaton
  /** What is put in the place of a value, by its owner's number. */
  readonly marks: readonly Uint8Array[]
}

interface Range {
  start: number
  end: number
  owner: number
}

/** So few bytes of a value tell nothing of it. */
const harmless = 4
const none = new Uint8Array(0)

export function openRedactor(known: () => Known | undefined, options: RedactorOptions = {}): Redactor {
  return new StreamRedactor(known, options)
}

class StreamRedactor implements Redactor {
  readonly #known: () => Known | undefined
  readonly #sameLength: boolean
  #using: Known | undefined
  /** What has arrived and is still needed. Places in it are counted from its first byte. */
  #held: Uint8Array = none
  /** Up to here it has been passed on. */
  #passed = 0
  /** Up to here it has been looked at. */
  #looked = 0
  #state = 0
  /** Where the symbols of the form that may be under way began; those before `#first` are no part of it any more. */
  #starts: number[] = []
  #first = 0
  #ranges: Range[] = []

  constructor(known: () => Known | undefined, { sameLength = false }: RedactorOptions) {
    this.#known = known
    this.#sameLength = sameLength
  }

  push(chunk: Uint8Array): Uint8Array {
    this.#learn()
    if (this.#using === undefined) return chunk
    this.#take(chunk)
    this.#scan(this.#using, { isEnd: false })
    return this.#pass(this.#using, this.#certain())
  }

  end(): Uint8Array {
    this.#learn()
    if (this.#using === undefined) return none
    this.#scan(this.#using, { isEnd: true })
    const rest = this.#pass(this.#using, this.#held.length)
    this.#forget()
    this.#held = none
    this.#passed = 0
    this.#looked = 0
    return rest
  }

  idle(): Uint8Array {
    if (this.#using === undefined || this.#ranges.length > 0) return none
    if (this.#starts.length - this.#first >= harmless) return none
    return this.#pass(this.#using, this.#held.length)
  }

  /** What was held back is looked at again with what is known now. */
  #learn(): void {
    const known = this.#known()
    if (known === this.#using) return
    this.#using = known
    this.#looked = this.#passed
    this.#forget()
  }

  #forget(): void {
    this.#state = 0
    this.#starts = []
    this.#first = 0
    this.#ranges = []
  }

  #take(chunk: Uint8Array): void {
    const gone = Math.min(this.#passed, this.#looked)
    const left = this.#held.subarray(gone)
    // A copy in any case: what is held back must last longer than the chunk, which may be lent.
    this.#held = Buffer.concat([left, chunk])
    this.#passed -= gone
    this.#looked -= gone
    if (gone === 0) return
    this.#starts = this.#starts.slice(this.#first).map((start) => start - gone)
    this.#first = 0
    for (const range of this.#ranges) {
      range.start -= gone
      range.end -= gone
    }
  }

  #scan({ automaton }: Known, { isEnd }: { readonly isEnd: boolean }): void {
    const bytes = this.#held
    const { first } = automaton
    const seen: Seen = { symbol: nothing, length: 1 }
    let at = this.#looked
    let state = this.#state
    while (at < bytes.length) {
      // Nothing under way, and nothing begins here: nearly every byte of nearly every stream.
      if (state === 0) {
        while (at < bytes.length && bytes[at] !== percent && first[bytes[at] as number] === 0) at += 1
        if (at === bytes.length) break
      }
      look(bytes, at, isEnd, seen)
      if (seen.symbol === unknown) break
      if (seen.symbol !== nothing) {
        state = automaton.next(state, seen.symbol)
        this.#follow(at, automaton.depth(state))
        const found = automaton.found(state)
        if (found > 0) this.#mark(this.#starts.at(-found) as number, at + seen.length, automaton.owner(state))
      }
      at += seen.length
    }
    this.#looked = at
    this.#state = state
  }

  #follow(at: number, depth: number): void {
    if (depth === 0) {
      if (this.#starts.length > 0) this.#starts = []
      this.#first = 0
      return
    }
    this.#starts.push(at)
    this.#first = this.#starts.length - depth
    if (this.#first < 4096) return
    this.#starts = this.#starts.slice(this.#first)
    this.#first = 0
  }

  /** Values that overlap are one gap, so that neither is left in parts. */
  #mark(from: number, end: number, owner: number): void {
    let start = from
    for (let last = this.#ranges.at(-1); last !== undefined && last.end > start; last = this.#ranges.at(-1)) {
      start = Math.min(start, last.start)
      this.#ranges.pop()
    }
    this.#ranges.push({ start, end, owner })
  }

  /** Nothing before this place can become part of a value any more. */
  #certain(): number {
    const isUnderWay = this.#first < this.#starts.length
    const place = isUnderWay ? Math.min(this.#starts[this.#first] as number, this.#looked) : this.#looked
    const open = this.#ranges.at(-1)
    return open !== undefined && open.end > place ? Math.min(open.start, place) : place
  }

  #pass({ marks }: Known, until: number): Uint8Array {
    if (until <= this.#passed) return none
    if (this.#ranges.length === 0) return this.#passPlain(until)
    const parts: Uint8Array[] = []
    let left = 0
    for (const { start, end, owner } of this.#ranges) {
      if (end > until) break
      if (start > this.#passed) parts.push(this.#held.subarray(this.#passed, start))
      const length = Math.max(0, end - Math.max(start, this.#passed))
      parts.push(this.#sameLength ? Buffer.alloc(length, '*') : (marks[owner] ?? none))
      this.#passed = Math.max(this.#passed, end)
      left += 1
    }
    this.#ranges = this.#ranges.slice(left)
    parts.push(this.#passPlain(until))
    return Buffer.concat(parts)
  }

  #passPlain(until: number): Uint8Array {
    const piece = this.#held.subarray(this.#passed, until)
    this.#passed = Math.max(this.#passed, until)
    return piece
  }
}

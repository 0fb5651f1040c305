// Server-sent events out of bytes, as the HTML standard has them. An event counts when its empty line has come: what a broken
// connection cut off is dropped here, and comes again whole behind Last-Event-ID.
import { GloveboxError } from '../errors/error.ts'

export interface ServerEvent {
  /** Of this event or of the last one before it that had one. */
  readonly id: string | undefined
  /** Default: `message`. */
  readonly event: string
  readonly data: string
}

export interface EventParser {
  push(text: string): readonly ServerEvent[]
}

/** More than any event of ours; a stream that never comes to an end of line must not fill the memory. */
const longestEvent = 16 * 1024 * 1024

export function createEventParser(longest: number = longestEvent): EventParser {
  let rest = ''
  let lastId: string | undefined
  let event = ''
  let data: string[] = []
  let held = 0

  const take = (line: string): ServerEvent | undefined => {
    if (line === '') return finish()
    held += line.length
    const colon = line.indexOf(':')
    if (colon === 0) return undefined
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) lastId = value
    return undefined
  }

  const finish = (): ServerEvent | undefined => {
    const found = data.length === 0 ? undefined : { id: lastId, event: event || 'message', data: data.join('\n') }
    event = ''
    data = []
    held = 0
    return found
  }

  return {
    push(text) {
      const found: ServerEvent[] = []
      // What was looked through before has no end of line, but for a carriage return that it may end with.
      let from = Math.max(0, rest.length - 1)
      let begin = 0
      rest += text
      for (let end = lineEnd(rest, from); end !== undefined; end = lineEnd(rest, from)) {
        const made = take(rest.slice(begin, end.at))
        if (made !== undefined) found.push(made)
        begin = end.next
        from = end.next
      }
      rest = rest.slice(begin)
      if (rest.length + held > longest) throw tooLong(longest)
      return found
    },
  }
}

/** A carriage return at the very end may be half of a pair: it is left until more has come. */
function lineEnd(text: string, from: number): { readonly at: number; readonly next: number } | undefined {
  const ends = /\r\n|\n|\r(?!$)/g
  ends.lastIndex = from
  const found = ends.exec(text)
  return found === null ? undefined : { at: found.index, next: ends.lastIndex }
}

const tooLong = (longest: number): GloveboxError =>
  new GloveboxError('UNEXPECTED_ANSWER', `Cannot read the stream: an event is longer than ${longest} characters`)

// What JSON.stringify makes of a value that came as JSON, in pieces: at once, that of a long body would hold up everybody else.
import { createHash } from 'node:crypto'
import { createPace } from './pace.ts'

const charactersAtOnce = 64 * 1024

/** Of what it is, and of the value as JSON. */
export async function sha256OfJson(what: string, value: unknown): Promise<string> {
  const hash = createHash('sha256').update(`${what}\n`)
  const pace = createPace()
  for (const piece of jsonPieces(value)) {
    hash.update(piece)
    await pace.rest()
  }
  return hash.digest('hex')
}

export function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > charactersAtOnce) yield* textPieces(value)
  else if (Array.isArray(value)) yield* listPieces(value)
  else if (typeof value === 'object' && value !== null) yield* objectPieces(value)
  else yield JSON.stringify(value)
}

function* textPieces(text: string): Generator<string> {
  yield '"'
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(from + charactersAtOnce, text.length)
    // Half of a pair would be written as an escape.
    if (isFirstHalf(text.charCodeAt(to - 1))) to += 1
    yield JSON.stringify(text.slice(from, to)).slice(1, -1)
  }
  yield '"'
}

const isFirstHalf = (code: number): boolean => code >= 0xd800 && code < 0xdc00

function* listPieces(items: readonly unknown[]): Generator<string> {
  yield '['
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ','
    yield* jsonPieces(item)
  }
  yield ']'
}

function* objectPieces(value: object): Generator<string> {
  yield '{'
  let isFirst = true
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    yield `${isFirst ? '' : ','}${JSON.stringify(name)}:`
    isFirst = false
    yield* jsonPieces(inner)
  }
  yield '}'
}

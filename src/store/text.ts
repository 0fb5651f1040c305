// PostgreSQL takes neither a NUL nor half of a surrogate pair in text, and SQLite hands some of them back changed. What
// could not come back as it was put in is refused on both.
import { GloveboxError } from '../errors/error.ts'

const unstorable = /[\0\p{Surrogate}]/u

export function refuseUnstorable(columns: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(columns)) {
    if (typeof value === 'string' && unstorable.test(value)) throw refused(name, 'it holds a NUL or half a character')
    if (typeof value === 'number' && !Number.isSafeInteger(value)) throw refused(name, 'it is not a whole number')
  }
}

const refused = (name: string, cause: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot store ${name}: ${cause}`)

// One value, one fingerprint: the SHA-256 of a canonical form in which the order of keys says nothing. What JSON cannot
// say exactly (functions, NaN, undefined, dates) is refused, since two different configs could else share a fingerprint.
import { createHash } from 'node:crypto'
import { GloveboxError } from '../errors/error.ts'

const maxDepth = 200

export const fingerprint = (value: unknown): string => sha256(canonical(value))

export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** JSON without blanks, keys sorted by their UTF-16 units. A key whose value is undefined counts as absent. */
export function canonical(value: unknown, depth = 0): string {
  if (depth > maxDepth) throw refused('it is nested too deeply')
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return canonicalNumber(value)
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonical(item, depth + 1)).join(',')}]`
  if (typeof value === 'object' && isPlain(value)) return canonicalObject(value, depth)
  throw refused(`a value of type ${typeof value} has no exact form`)
}

function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw refused('a number in it is not finite')
  return JSON.stringify(value)
}

function canonicalObject(value: object, depth: number): string {
  const fields = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item, depth + 1)}`).join(',')}}`
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const refused = (cause: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot take the fingerprint of the config: ${cause}`, {
    hint: 'A config holds only objects, arrays, strings, finite numbers, booleans and null.',
  })

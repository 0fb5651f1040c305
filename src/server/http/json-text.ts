// JSON from strangers. JSON.parse takes what no schema can see afterwards: a name given twice (the last wins, and two readers
// may disagree), a name that is a door to every object's prototype, a half of a surrogate pair, and nesting without end. So
// the text is walked once before it is parsed, in pieces where it is long.
import { GloveboxError } from '../../errors/error.ts'
import type { Limits } from './limits.ts'
import { createPace } from './pace.ts'

const quote = 0x22
const backslash = 0x5c

/** INVALID_INPUT with the reason, or the value. */
export async function parseJson(text: string, limits: Pick<Limits, 'jsonDepth' | 'jsonEntries'>): Promise<unknown> {
  const pace = createPace()
  for (const _ of inspectShape(text, limits)) await pace.rest()
  await pace.rest()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuse('it is not JSON')
  }
  // Raw text is well-formed once it was decoded; only an escape can bring half a pair.
  if (!text.includes('\\')) return value
  await pace.rest()
  if (hasHalfPair(value)) throw refuse('it holds half of a surrogate pair, which is not text')
  return value
}

interface Level {
  /** Undefined in an array. */
  readonly names: Set<string> | undefined
  expectsName: boolean
}

// SECURITY: V8 tells names of more than 16,383 characters apart by their length, and then by comparing each with each: two thousand of
// them would take it seconds. test/e2e/execs-large-bodies: "of %s is refused with its code"
const longestName = 4096

/** Characters that say something, and quotes within strings: what lies between two of those is passed over at once. */
const stepsAtOnce = 16_384

/** Not a parser: whatever it misreads in a text that is no JSON, JSON.parse refuses afterwards. Stops now and then. */
function* inspectShape(
  text: string,
  { jsonDepth, jsonEntries }: Pick<Limits, 'jsonDepth' | 'jsonEntries'>,
): Generator<void> {
  const levels: Level[] = []
  let entries = 0
  /** Where the string begins that it is in. */
  let from = -1
  for (let [at, steps] = [0, 1]; at < text.length; at++, steps++) {
    if (steps % stepsAtOnce === 0) yield
    const level = levels.at(-1)
    if (from >= 0) {
      at = text.indexOf('"', at)
      if (at < 0) return
      if (isEscaped(text, at)) continue
      if (level?.expectsName === true) takeName(level, text.slice(from, at + 1))
      from = -1
      continue
    }
    switch (text.charCodeAt(at)) {
      case quote:
        from = at
        break
      case 0x7b: // {
      case 0x5b: // [
        levels.push(
          text[at] === '{' ? { names: new Set(), expectsName: true } : { names: undefined, expectsName: false },
        )
        if (levels.length > jsonDepth) throw refuse(`it is nested deeper than ${jsonDepth} levels`)
        break
      case 0x7d: // }
      case 0x5d: // ]
        levels.pop()
        break
      case 0x2c: // ,
        if (level?.names !== undefined) level.expectsName = true
        if (++entries > jsonEntries) throw refuse(`it has more than ${jsonEntries} entries`)
        break
    }
  }
}

/** Within a string: behind an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

function takeName(level: Level, quoted: string): void {
  level.expectsName = false
  if (quoted.length > longestName)
    throw refuse(`the name ${quoted.slice(0, 100)}… in it has more than ${longestName} characters`)
  const name = quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1)
  // SECURITY: a field that becomes every object's prototype would change what unrelated code sees.
  // test/e2e/server-input: "names that reach for a prototype are refused"
  if (name === '__proto__')
    throw new GloveboxError('UNKNOWN_FIELD', 'Cannot read the body: __proto__ is not a field', {
      facts: { fields: ['__proto__'] },
    })
  if (level.names?.has(name) === true) throw refuse(`it gives ${JSON.stringify(name.slice(0, 100))} twice`)
  level.names?.add(name)
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    throw refuse('it is not JSON')
  }
}

function hasHalfPair(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, inner]) => hasHalfPair(name) || hasHalfPair(inner))
}

const refuse = (cause: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot read the body: ${cause}`, { hint: 'Send one JSON object.' })

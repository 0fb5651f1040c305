// The values that commands of one sandbox were given, and the ways in which they are kept out of what is shown. Values stay in
// memory for as long as the sandbox lives, since a command may have written one down where another one reads it.
import type { Redaction } from '../../contract/redaction.ts'
import { GloveboxError } from '../../errors/error.ts'
import { buildAutomaton, type Pattern } from './automaton.ts'
import { formsOf } from './forms.ts'
import { openRedactor, type Known } from './redactor.ts'

export interface LearningRedaction extends Redaction {
  /** To be called before the value leaves. */
  learn(name: string, value: Uint8Array): void
}

export function openRedaction(): LearningRedaction {
  const patterns: Pattern[] = []
  const marks: Uint8Array[] = []
  const values = new Set<string>()
  let known: Known | undefined

  const open: Redaction['open'] = (options) => openRedactor(() => known, options)
  const bytes = (input: Uint8Array): Uint8Array => {
    if (known === undefined) return input
    const redactor = open()
    return Buffer.concat([redactor.push(input), redactor.end()])
  }
  const text = (input: string): string => {
    if (known === undefined) return input
    const before = Buffer.from(input, 'utf8')
    const after = bytes(before)
    // A text that is no UTF-8 would come back changed.
    return before.equals(after) ? input : Buffer.from(after).toString('utf8')
  }
  const json = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map(json)
    if (value instanceof Uint8Array) return bytes(value)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [text(key), json(each)]))
  }

  return {
    get isActive() {
      return known !== undefined
    },
    open,
    bytes,
    text,
    json: <Value>(value: Value): Value => (known === undefined ? value : (json(value) as Value)),
    error: (error) => (known === undefined ? error : redactError(error, text, json)),
    learn(name, value) {
      const key = Buffer.from(value).toString('latin1')
      if (values.has(key)) return
      values.add(key)
      const owner = marks.push(Buffer.from(`[redacted:${name}]`)) - 1
      patterns.push(...formsOf(value).map((symbols) => ({ symbols, owner })))
      known = { automaton: buildAutomaton(patterns), marks: [...marks] }
    },
  }
}

function redactError(error: unknown, text: (input: string) => string, json: (value: unknown) => unknown): unknown {
  if (error instanceof GloveboxError) {
    const { hint, operatorDetail, facts } = error
    const told = new GloveboxError(error.code, text(error.message), {
      facts: json(facts) as Readonly<Record<string, unknown>>,
      ...(hint === undefined ? {} : { hint: text(hint) }),
      ...(operatorDetail === undefined ? {} : { operatorDetail: text(operatorDetail) }),
    })
    // The cause is left out: it may say anything, and nobody knows its shape.
    return isSame(error, told) && error.cause === undefined ? error : told
  }
  if (!(error instanceof Error)) return json(error)
  const message = text(error.message)
  return message === error.message ? error : new Error(message)
}

const isSame = (one: GloveboxError, other: GloveboxError): boolean =>
  JSON.stringify([one.message, one.hint, one.operatorDetail, one.facts]) ===
  JSON.stringify([other.message, other.hint, other.operatorDetail, other.facts])

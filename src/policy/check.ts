// Hand-written checks of single policy values. The schemas of the contract check at the edges; these
// hold for callers who come without a schema, and keep the schema library off the start-up path.
// Every check returns a copy, so that no later change of the input reaches a resolved policy.
import type { EffectivePolicy, NetworkMode } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'

/** From closed to open; the order is the order of width. */
export const networkModes = ['none', 'allowlist', 'full'] as const satisfies readonly NetworkMode[]

const environmentName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
const maxListEntries = 1000

export const isEnvironmentName = (name: string): boolean => environmentName.test(name)

export function invalid(path: string, cause: string): GloveboxError {
  return new GloveboxError('INVALID_INPUT', `Cannot use policy value ${path}: ${cause}`, {
    facts: { field: path, fields: [asWritten(path)] },
  })
}

/** Which layer it is, the writer did not write: settings, options and requests have their values below `policy`. */
const asWritten = (path: string): string =>
  path.replace(/^(?:settings|skill|request)\./, 'policy.').replaceAll(/\[(\d+)\]/g, '.$1')

/** A key of the caller's making goes into messages and logs, so it is short and has no control characters. */
export const shownKey = (key: string): string => (/^\w{1,64}$/.test(key) ? key : JSON.stringify(key.slice(0, 64)))

export function isPlainRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export interface NumberBounds {
  readonly least: number
  readonly most: number
  readonly whole: boolean
}

export function checkNumber(value: unknown, path: string, bounds: NumberBounds): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(path, 'it must be a finite number')
  if (bounds.whole && !Number.isInteger(value)) throw invalid(path, 'it must be a whole number')
  if (value < bounds.least) throw invalid(path, `it must be at least ${bounds.least}`)
  if (value > bounds.most) throw invalid(path, `it must be at most ${bounds.most}`)
  return value
}

export function checkBoolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw invalid(path, 'it must be true or false')
  return value
}

function checkList(value: unknown, path: string, each: (text: string, path: string) => string): readonly string[] {
  if (!Array.isArray(value)) throw invalid(path, 'it must be a list of texts')
  if (value.length > maxListEntries) throw invalid(path, `it must have at most ${maxListEntries} entries`)
  const entries = Array.from(value as readonly unknown[], (entry, index) => {
    const entryPath = `${path}[${index}]`
    if (typeof entry !== 'string' || entry === '') throw invalid(entryPath, 'it must be a text that is not empty')
    return each(entry, entryPath)
  })
  return [...new Set(entries)]
}

// SECURITY: a control character or a NUL in a host rule may be read differently by the parser that decides and the one
// that dials. test/attacks/network: "a host name with a NUL is refused"
function checkAllowEntry(text: string, path: string): string {
  if (text.length > 300 || !/^[\x21-\x7e]+$/.test(text)) {
    throw invalid(path, 'it must be host or host:port in printable ASCII without spaces, at most 300 characters')
  }
  return text
}

export function checkNetwork(value: unknown, path: string): EffectivePolicy['network'] {
  if (!isPlainRecord(value)) throw invalid(path, 'it must be an object with a mode, like { mode: none }')
  for (const key of Object.keys(value)) {
    if (key !== 'mode' && key !== 'allow') throw invalid(`${path}.${shownKey(key)}`, 'no such field exists')
  }
  const asked = Object.hasOwn(value, 'mode') ? value['mode'] : undefined
  const mode = networkModes.find((known) => known === asked)
  if (mode === undefined) throw invalid(`${path}.mode`, `it must be one of ${networkModes.join(', ')}`)
  const allow = Object.hasOwn(value, 'allow') ? value['allow'] : undefined
  // SECURITY: a missing or an empty list denies everything. test/attacks/network: "an empty allow-list denies everything"
  if (allow === undefined) return { mode, allow: [] }
  // A list beside `none` or `full` would be ignored, and its writer would believe that it holds.
  if (mode !== 'allowlist') throw invalid(`${path}.allow`, `a list has no meaning with mode ${mode}`)
  return { mode, allow: checkList(allow, `${path}.allow`, checkAllowEntry) }
}

export function checkEnvironmentNames(value: unknown, path: string): readonly string[] {
  return checkList(value, path, (text, entryPath) => {
    if (!isEnvironmentName(text)) throw invalid(entryPath, 'it must be a name of letters, digits and underscores')
    return text
  })
}

const secretName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\/[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/

/** Each with its vault, and never a pattern: a secret that comes into a vault later is granted by nobody. */
export function checkSecretNames(value: unknown, path: string): readonly string[] {
  return checkList(value, path, (text, entryPath) => {
    if (!secretName.test(text)) throw invalid(entryPath, 'it must name a secret with its vault, like "keys/token"')
    return text
  })
}

function checkedSegments(text: string, path: string): readonly string[] {
  if (text.includes('\0')) throw invalid(path, 'it must not contain a NUL')
  if (text.length > 4096) throw invalid(path, 'it must have at most 4096 characters')
  const segments = text.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw invalid(path, 'it must not contain ".."')
  if (segments.length === 0) throw invalid(path, 'it must name something below the root')
  return segments
}

/** Names below a mount, normalised so that `./.git//hooks/` and `.git/hooks` are one. */
export function checkRelativeNames(value: unknown, path: string): readonly string[] {
  return checkList(value, path, (text, entryPath) => {
    if (text.startsWith('/')) throw invalid(entryPath, 'it must be relative to a mount')
    return checkedSegments(text, entryPath).join('/')
  })
}

export function checkGuestPaths(value: unknown, path: string): readonly string[] {
  return checkList(value, path, (text, entryPath) => {
    if (!text.startsWith('/')) throw invalid(entryPath, 'it must be an absolute guest path')
    return `/${checkedSegments(text, entryPath).join('/')}`
  })
}

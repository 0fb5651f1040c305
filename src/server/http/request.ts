// One request's input, checked against the route's schemas. What is wrong is named by its field.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { GloveboxError } from '../../errors/error.ts'
import type { BodyShare } from './body-room.ts'
import { decodeText, readBytes } from './body.ts'
import { parseJson } from './json-text.ts'
import type { Limits } from './limits.ts'
import { createPace } from './pace.ts'
import type { Route } from './route.ts'

const shownIssues = 5
const shownCharacters = 100

export function check(what: string, schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return undefined
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => nameOf([...issue.path, key])) : [],
  )
  if (unknown.length > 0) throw unknownField(what, unknown)
  const shown = issues.slice(0, shownIssues).map(({ path, message }) => {
    const field = nameOf(path)
    return field === '' ? message : `${field}: ${message}`
  })
  throw new GloveboxError('INVALID_INPUT', `Cannot take the ${what}: ${shown.join('; ').slice(0, 2000)}`, {
    hint: 'Correct the named fields.',
    facts: { fields: issues.slice(0, 20).map(({ path }) => nameOf(path)) },
  })
}

/** A caller may have chosen it, and as long as a body. */
const nameOf = (path: readonly PropertyKey[]): string => {
  const name = path.map(String).join('.')
  return name.length > shownCharacters ? `${name.slice(0, shownCharacters)}…` : name
}

export function queryOf(url: string): Record<string, string> {
  const at = url.indexOf('?')
  const given: [string, string][] = []
  if (at >= 0) {
    const seen = new Set<string>()
    for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
      if (seen.has(name))
        throw new GloveboxError(
          'INVALID_INPUT',
          `Cannot take the query: ${JSON.stringify(name.slice(0, 100))} is there twice`,
        )
      seen.add(name)
      given.push([name, value])
    }
  }
  // fromEntries defines own properties, so `__proto__` is a name like any other, and refused as unknown.
  return Object.fromEntries(given)
}

export function refuseQuery(url: string): void {
  const names = Object.keys(queryOf(url))
  if (names.length > 0) throw unknownField('query', names)
}

/** By its Accept header. */
export const asksForEvents = (accept: string | undefined): boolean => /\btext\/event-stream\b/.test(accept ?? '')

export interface ReadBody {
  readonly value: unknown
  readonly bytes: Uint8Array
}

const noBytes = Buffer.alloc(0)
/** What no body counts as, where one of JSON is taken: the schema of the route says whether that is enough. */
export const absentBody: unknown = Object.freeze({})

export async function readBody(
  incoming: IncomingMessage,
  route: Route,
  { limits, share }: { readonly limits: Limits; readonly share: BodyShare },
): Promise<ReadBody> {
  if (route.body === undefined) return { value: undefined, bytes: noBytes }
  const { headers } = incoming
  const isAbsent = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (!isAbsent) requireJson(headers['content-type'])
  const maxBytes = route.maxBodyBytes ?? limits.jsonBytes
  const bytes = isAbsent ? noBytes : await readBytes(incoming, { maxBytes, share })
  const pace = createPace()
  const text = await decodeText(bytes)
  const given = text === '' ? absentBody : await parseJson(text, limits)
  const value = check('body', route.body.schema, given)
  // What the route does with a long one comes in another turn than the check of it.
  await pace.rest()
  return { value, bytes }
}

/** Of method, address and body together. */
export const sha256Of = ({ method = '', url = '' }: IncomingMessage, bytes: Uint8Array): string =>
  createHash('sha256').update(`${method} ${url}\n`).update(bytes).digest('hex')

// SECURITY: a form of a foreign page can send text/plain and form types without asking first, and never this one.
// test/e2e/server-transport: "what a form can send is not read as JSON"
function requireJson(type: string | undefined): void {
  if (/^application\/json *(?:; *charset=utf-8 *)?$/i.test(type ?? '')) return
  throw new GloveboxError('UNSUPPORTED_MEDIA_TYPE', 'Cannot read the body: its Content-Type is not application/json', {
    hint: 'Send Content-Type: application/json.',
  })
}

const unknownField = (what: string, fields: readonly string[]): GloveboxError =>
  new GloveboxError(
    'UNKNOWN_FIELD',
    `Cannot take the ${what}: ${fields.slice(0, shownIssues).join(', ')} is not known`,
    {
      hint: 'The fields are listed at /openapi.json.',
      facts: { fields: fields.slice(0, 20) },
    },
  )

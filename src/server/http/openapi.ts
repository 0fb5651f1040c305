// The OpenAPI 3.1 document, made from the same declarations that serve the requests. Schemas are turned into JSON Schema by
// zod itself, which knows all of its own kinds; the registry joins them into the document.
import { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { errorTable, type ErrorCode } from '../../errors/table.ts'
import { problem, problemType } from './problem.ts'
import { absentBody } from './request.ts'
import type { AnswerSpec, NamedSchema, Route } from './route.ts'

export type OpenApiDocument = ReturnType<OpenAPIHono['getOpenAPI31Document']>
type Registry = OpenAPIHono['openAPIRegistry']
type RegisteredPath = Parameters<Registry['registerPath']>[0]
type JsonSchema = Record<string, unknown>

const bearer = 'bearer'
/** The types of the registry are those of 3.0, which knows no identifier; 3.1 wants one, or an address. */
const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' }
/** What any route may answer; a route adds its own. */
const usual: readonly ErrorCode[] = [
  'INVALID_INPUT',
  'HOST_NOT_ALLOWED',
  'URI_TOO_LONG',
  'INTERNAL',
  'STORE_UNAVAILABLE',
]
/** BUSY: the server has no descriptor left, whatever it is to read. */
const withToken: readonly ErrorCode[] = [
  'UNAUTHENTICATED',
  'INSUFFICIENT_SCOPE',
  'TOO_MANY_REQUESTS',
  'NOT_FOUND',
  'BUSY',
]
/** Each is recorded before it begins, and kept when it is done. */
const ofChange: readonly ErrorCode[] = ['AUDIT_UNAVAILABLE', 'DRAINING', 'NO_SPACE']
/** Any use may have to open it where it rests, under what the operator allows by now, and finds others at it. */
const ofSandbox: readonly ErrorCode[] = [
  'SANDBOX_GONE',
  'LEASE_LOST',
  'CAPACITY_EXCEEDED',
  'BACKEND_UNAVAILABLE',
  'BOUNDARY_FAILED',
  'POLICY_ESCALATION',
  'POLICY_UNENFORCEABLE',
  'SECRET_UNAVAILABLE',
  'RECORD_DAMAGED',
  'NO_SPACE',
  'CANCELLED',
]
const withBody: readonly ErrorCode[] = ['TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'TIMED_OUT']

export function openApiOf(routes: readonly Route[], version: string): OpenApiDocument {
  const app = new OpenAPIHono()
  const registry = app.openAPIRegistry
  registry.registerComponent('securitySchemes', bearer, { type: 'http', scheme: 'bearer' })
  const components = new Map<string, NamedSchema>()
  for (const route of routes) if (route.attach === undefined) registry.registerPath(pathOf(route, components))
  refer(problem, components)
  for (const [name, { schema }] of components) registry.registerComponent('schemas', name, componentOf(name, schema))
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Glovebox',
      version,
      description:
        'Sandboxes, runs and execs for agents. Every error is a problem (RFC 9457) with a code of one table.',
      license,
    },
  })
}

/** The same schema under the same name, wherever it is used. Requests have what a caller may leave out, answers do not. */
function refer(used: NamedSchema, components: Map<string, NamedSchema>): JsonSchema {
  const known = components.get(used.name)
  if (known !== undefined && known.schema !== used.schema) throw new Error(`two schemas are called ${used.name}`)
  components.set(used.name, used)
  return { $ref: `#/components/schemas/${used.name}` }
}

function componentOf(name: string, schema: z.ZodType): JsonSchema {
  const io = name.endsWith('Request') ? 'input' : 'output'
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  const text = JSON.stringify(made).replaceAll('"#/$defs/', `"#/components/schemas/${name}/$defs/`)
  return JSON.parse(text) as JsonSchema
}

function pathOf(route: Route, components: Map<string, NamedSchema>): RegisteredPath {
  const { method, path, tag, summary, description, scope } = route
  const described = scope === 'open' ? description : `${description ?? ''} Needs the scope \`${scope}\`.`.trim()
  const made = {
    method,
    path: path.replace('+}', '}'),
    operationId: operationOf(route),
    tags: [tag],
    summary,
    ...(described === undefined ? {} : { description: described }),
    ...(scope === 'open' ? { security: [] } : { security: [{ [bearer]: [] }] }),
    parameters: parametersOf(route),
    ...requestBodyOf(route, components),
    responses: joined(answersOf(route, components), problemsOf(route, components)),
    'x-scope': scope,
  }
  return made as unknown as RegisteredPath
}

/** `postSandboxesIdCommands`: unique, since method and path are. */
const operationOf = ({ method, path }: Route): string =>
  method +
  path
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

function parametersOf({ params, query, headers = {} }: Route): readonly JsonSchema[] {
  return [
    ...fieldsOf(params).map(([name, schema]) => ({ name, in: 'path', required: true, schema })),
    ...fieldsOf(query).map(([name, schema, isRequired]) => ({ name, in: 'query', required: isRequired, schema })),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ]
}

function fieldsOf(schema: z.ZodType | undefined): readonly (readonly [string, unknown, boolean])[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return Object.entries(properties).map(([name, field]) => [name, field, required.includes(name)] as const)
}

function requestBodyOf({ body, rawBody }: Route, components: Map<string, NamedSchema>): JsonSchema {
  if (body !== undefined) {
    const required = !body.schema.safeParse(absentBody).success
    return { requestBody: { required, content: { 'application/json': { schema: refer(body, components) } } } }
  }
  if (rawBody === undefined) return {}
  // None is one of no bytes.
  return { requestBody: { required: false, content: { 'application/octet-stream': { schema: binary } } } }
}

const binary = { type: 'string', format: 'binary' } as const

interface Documented {
  readonly description: string
  readonly content?: JsonSchema
}

type Responses = Readonly<Record<string, Documented>>

/** A status may be an answer of the route as well as a problem: then both are told under it. */
function joined(answers: Responses, problems: Responses): Responses {
  const both = Object.entries(answers).map(([status, { description, content }]) => {
    const alsoProblem = problems[status]
    if (alsoProblem === undefined)
      return [status, { description, ...(content === undefined ? {} : { content }) }] as const
    return [
      status,
      { description: `${description} ${alsoProblem.description}`, content: { ...content, ...alsoProblem.content } },
    ] as const
  })
  return { ...problems, ...Object.fromEntries(both) }
}

function answersOf({ answers }: Route, components: Map<string, NamedSchema>): Responses {
  return Object.fromEntries(
    Object.entries(answers).map(([status, spec]) => [
      status,
      { description: spec.description, ...contentOf(spec, components) },
    ]),
  )
}

function contentOf(
  { json, bytes, events, text }: AnswerSpec,
  components: Map<string, NamedSchema>,
): Pick<Documented, 'content'> {
  const content: JsonSchema = {}
  if (json !== undefined) content['application/json'] = { schema: refer(json, components) }
  if (bytes === true) content['application/octet-stream'] = { schema: binary }
  if (text !== undefined) content[text] = { schema: { type: 'string' } }
  // OpenAPI 3.1 has no word for the events themselves; the schema of their data is named beside.
  if (events !== undefined)
    content['text/event-stream'] = { schema: { type: 'string' }, 'x-event-data': refer(events, components) }
  return Object.keys(content).length === 0 ? {} : { content }
}

const usesSandbox = ({ method, path }: Route): boolean =>
  path.includes('{sandbox_id}') || (method === 'post' && path === '/sandboxes')

function problemsOf(route: Route, components: Map<string, NamedSchema>): Responses {
  const codes = [
    ...usual,
    ...(route.scope === 'open' ? [] : withToken),
    ...(route.body === undefined && route.rawBody === undefined ? [] : withBody),
    ...(route.method === 'get' ? [] : ofChange),
    ...(usesSandbox(route) ? ofSandbox : []),
    ...(route.errors ?? []),
  ]
  const byStatus = new Map<number, Set<ErrorCode>>()
  for (const code of codes) {
    const { http } = errorTable[code]
    byStatus.set(http, (byStatus.get(http) ?? new Set()).add(code))
  }
  const schema = refer(problem, components)
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, told]) => [
        status,
        { description: `A problem: ${[...told].join(', ')}.`, content: { [problemType]: { schema } } },
      ]),
    ),
    default: { description: 'Any other problem of the table.', content: { [problemType]: { schema } } },
  }
}

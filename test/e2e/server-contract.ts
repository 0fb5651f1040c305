// The OpenAPI document as a judge of answers: for each request its operation, for each answer its schema.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  /** `open`, or the scope that it needs. */
  readonly scope: string
  readonly hasBody: boolean
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
}

export interface Judged {
  readonly status: number
  readonly type: string
  readonly text: string
}

export interface Contract {
  readonly document: Document
  readonly operations: readonly Operation[]
  /** What is wrong with the answer; empty when nothing is. */
  judge(method: string, path: string, answer: Judged): readonly string[]
}

interface Media {
  readonly schema?: object
  readonly 'x-event-data'?: object
}

interface DocumentedOperation {
  readonly operationId: string
  readonly 'x-scope': string
  readonly requestBody?: object
  readonly parameters?: Operation['parameters']
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

export interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

export function openContract(document: Document): Contract {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
  ajv.addSchema({ $id: 'glovebox', components: document.components })
  const compiled = new Map<string, ValidateFunction>()
  const validatorOf = (schema: object): ValidateFunction => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"glovebox#/')
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object)
    compiled.set(text, known)
    return known
  }
  const faultsOf = (schema: object, value: unknown): readonly string[] => {
    const validate = validatorOf(schema)
    return validate(value) ? [] : [ajv.errorsText(validate.errors)]
  }
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      scope: operation['x-scope'],
      hasBody: operation.requestBody !== undefined,
      parameters: operation.parameters ?? [],
      responses: operation.responses,
      pattern: new RegExp(
        `^${path
          .replaceAll('.', '\\.')
          .replaceAll(/\{path\}/g, '.+')
          .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
      ),
    })),
  )
  return {
    document,
    operations,
    judge(method, path, { status, type, text }) {
      const pure = path.split('?')[0] ?? ''
      // The more of a path is written out, the more it is meant.
      const meant = operations
        .filter((each) => each.method === method && each.pattern.test(pure))
        .toSorted((one, other) => braces(one.path) - braces(other.path))[0]
      const responses: DocumentedOperation['responses'] = meant?.responses ?? { default: anyProblem }
      const declared = responses[String(status)]
      if (declared === undefined && status < 400) return [`${method} ${pure}: ${status} is not declared`]
      const content = (declared ?? responses['default'])?.content
      if (content === undefined) return text === '' ? [] : [`${method} ${pure}: ${status} should be empty`]
      const plainType = type.split(';')[0] ?? ''
      const media = content[plainType]
      if (media === undefined) return [`${method} ${pure}: ${status} came as ${type}`]
      if (plainType === 'text/event-stream')
        return eventsOf(text).flatMap((data) => faultsOf(media['x-event-data'] ?? {}, data))
      return plainType.endsWith('json') ? faultsOf(media.schema ?? {}, JSON.parse(text)) : []
    },
  }
}

const anyProblem = { content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } }

const braces = (path: string): number => path.split('{').length

export interface SeenEvent {
  readonly id?: string
  readonly event: string
  readonly data: unknown
}

export function parseEvents(text: string): readonly SeenEvent[] {
  return text
    .split('\n\n')
    .map((block) => {
      const field = (name: string): string | undefined =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2)
      const id = field('id')
      return { ...(id === undefined ? {} : { id }), event: field('event') ?? 'message', data: field('data') }
    })
    .filter(({ data }) => data !== undefined)
    .map((each) => ({ ...each, data: JSON.parse(each.data ?? 'null') as unknown }))
}

/** An error in a stream is a problem, and no event of its own schema. */
const eventsOf = (text: string): readonly unknown[] =>
  parseEvents(text)
    .filter(({ event }) => event !== 'error')
    .map(({ data }) => data)

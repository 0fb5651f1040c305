// The API reference for people: one page, made from the OpenAPI document, without scripts and without anything from
// elsewhere. It tells what the server can do and nothing about what it holds.
import type { OpenApiDocument } from './openapi.ts'

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>
  }
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>
}

export const referencePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

const style = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font:13px/1.45 ui-monospace,monospace}pre{overflow:auto;padding:.7rem;border:1px solid #8884;border-radius:6px}
details{border-bottom:1px solid #8884;padding:.5rem 0}summary{cursor:pointer}b.m{display:inline-block;width:4.5rem}
h2{margin-top:2.5rem;text-transform:capitalize}table{border-collapse:collapse}td{padding:.15rem .8rem .15rem 0;vertical-align:top}`

export function referencePage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Readonly<Record<string, Operation>>).map(([method, operation]) => ({
      path,
      method,
      operation,
    })),
  )
  const tags = [...new Set(operations.map(({ operation }) => operation.tags?.[0] ?? ''))]
  const sections = tags.map((tag) => {
    const own = operations.filter(({ operation }) => operation.tags?.[0] === tag)
    return `<h2>${text(tag)}</h2>${own.map(operationHtml).join('')}`
  })
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) =>
      `<details id="${text(name)}"><summary><code>${text(name)}</code></summary>${listing(schema)}</details>`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Glovebox API</title><style>${style}</style></head><body><h1>Glovebox API ${text(document.info.version)}</h1>
<p>Send <code>Authorization: Bearer gbx_…</code> with every request. For machines: <code>GET /openapi.json</code>.</p>
${sections.join('\n')}<h2>Schemas</h2>${schemas.join('')}</body></html>`
}

interface Placed {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

function operationHtml({ path, method, operation }: Placed): string {
  const parameters = (operation.parameters ?? []).map(({ name, in: place, required }) => [
    `<code>${text(name)}</code>`,
    `${text(place)}${required === true ? ', required' : ''}`,
  ])
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => [
    `${text(type)}${operation.requestBody?.required === true ? ', required' : ''}`,
    link(schema),
  ])
  const answers = Object.entries(operation.responses ?? {}).map(([status, { description }]) => [
    `<code>${text(status)}</code>`,
    text(description ?? ''),
  ])
  return `<details><summary><b class="m">${text(method.toUpperCase())}</b><code>${text(path)}</code> ${text(operation.summary ?? '')}</summary>
<p>${text(operation.description ?? '')}</p>${rows('Parameters', parameters)}${rows('Body', bodies)}${rows('Answers', answers)}</details>`
}

const rows = (title: string, cells: readonly (readonly string[])[]): string =>
  cells.length === 0
    ? ''
    : `<h4>${title}</h4><table>${cells.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')}</table>`

function link(schema: unknown): string {
  const name = /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(schema ?? {}))?.[1]
  return name === undefined ? 'bytes' : `<a href="#${text(name)}">${text(name)}</a>`
}

const listing = (schema: unknown): string => `<pre>${text(JSON.stringify(schema, null, 2))}</pre>`

const text = (value: string): string => value.replaceAll(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`)

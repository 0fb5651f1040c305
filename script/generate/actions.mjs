// One page for people, and for each action its two schemas for machines.
import { page, table } from './markdown.mjs'

const effects = {
  read: 'reads',
  write: 'changes files',
  execute: 'runs programs that may change files',
}

export function actionPages({ actions, z }) {
  const schemas = actions.map((action) => ({
    action,
    input: z.toJSONSchema(action.input, { io: 'input', unrepresentable: 'any' }),
    output: z.toJSONSchema(action.output, { io: 'output', unrepresentable: 'any' }),
  }))
  const files = schemas.map(({ action, input, output }) => [
    `schemas/${action.name}.json`,
    `${JSON.stringify({ name: action.name, summary: action.summary, effect: action.effect, input, output }, null, 2)}\n`,
  ])
  return [['actions.md', actionsPage(schemas)], ...files]
}

function actionsPage(schemas) {
  return page(
    'Actions',
    'src/actions/registry.ts',
    '`sandbox.execute(name, input)` performs one of these. The input is checked against its schema before anything happens, unknown fields are refused, and every result is bounded and says when it was cut. The JSON Schemas of input and output are in [schemas/](schemas/).',
    table(
      ['action', 'effect', 'what it does'],
      schemas.map(({ action }) => [`[\`${action.name}\`](#${action.name})`, effects[action.effect], action.summary]),
    ),
    ...schemas.map(section),
  )
}

function section({ action, input, output }) {
  return [
    `## ${action.name}`,
    `${action.summary} It ${effects[action.effect]}. Schemas: [schemas/${action.name}.json](schemas/${action.name}.json).`,
    'Input:',
    fields(input, { optional: true }),
    'Output:',
    fields(output, { optional: false }),
  ].join('\n\n')
}

function fields(schema, options) {
  const either = schema.oneOf ?? schema.anyOf
  if (either !== undefined) return either.map((each) => fields(each, options)).join('\n\nor:\n\n')
  if (schema.type !== 'object') throw new Error(`no page can tell a schema of type ${schema.type}`)
  return fieldTable(schema, options)
}

function fieldTable(schema, { optional }) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    `\`${name}\`${optional && !(schema.required ?? []).includes(name) ? ' (optional)' : ''}`,
    typeOf(field),
    [field.description, field.default === undefined ? undefined : `Default: \`${JSON.stringify(field.default)}\`.`]
      .filter(Boolean)
      .join(' '),
  ])
  return rows.length === 0 ? 'Nothing.' : table(['field', 'type', 'remark'], rows)
}

function typeOf(field) {
  if (field.const !== undefined) return `\`${JSON.stringify(field.const)}\``
  if (field.enum !== undefined) return field.enum.map((value) => `\`${JSON.stringify(value)}\``).join(' or ')
  const either = field.anyOf ?? field.oneOf
  if (either !== undefined) return [...new Set(either.map(typeOf))].join(' or ')
  if (field.type === 'array') return `list of ${typeOf(field.items ?? {})}`
  return `${field.type ?? 'anything'}${boundsOf(field)}`
}

function boundsOf({ minimum, exclusiveMinimum, maximum, maxLength, maxItems }) {
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : `above ${exclusiveMinimum}`)
  const largest = maximum ?? maxLength ?? maxItems
  const words = [
    typeof least === 'string'
      ? least
      : least !== undefined && Number.isSafeInteger(least) && least > -2e9
        ? `from ${least}`
        : undefined,
    largest !== undefined && largest < Number.MAX_SAFE_INTEGER ? `at most ${largest}` : undefined,
  ].filter((word) => word !== undefined && word !== `from ${Number.MIN_SAFE_INTEGER}`)
  return words.length === 0 ? '' : ` (${words.join(', ')})`
}

// The catalog's tool contract, from the actions themselves, as a module that loads nothing: a plain `exec` writes a catalog too, and
// must not load what the schemas are made with. And the JSON Schemas of the catalog's files.

/** The file keeps what a template literal would take for its own. */
const literal = (text) => text.replaceAll(/[\\`]|\$\{/g, (found) => `\\${found}`)

export function toolContractModule({ actions, z }) {
  const lines = actions.map(({ name, summary, effect, input }) => {
    const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })
    return JSON.stringify({ name, summary, effect, input: schema })
  })
  return [
    '// Made by `npm run generate` from src/actions/registry.ts. What tools.json of the catalog says, as JSON.',
    `export const toolContract = \`[\n${lines.map(literal).join(',\n')}\n]\``,
    '',
  ].join('\n')
}

const published = [
  ['index', 'catalogIndexSchema', 'index.json', 'What the catalog consists of.'],
  ['session', 'catalogSessionSchema', 'session.json', 'Who the agent is: its sandbox, its run, its directories.'],
  ['runtime', 'catalogRuntimeSchema', 'runtime.json', 'What is around the agent, and what it really holds.'],
  ['tools', 'catalogToolsSchema', 'tools.json', 'The actions of the sandbox and what each takes.'],
  ['permissions', 'catalogPermissionsSchema', 'permissions.json', 'What the agent may do.'],
  ['environment', 'catalogEnvironmentSchema', 'environment.json', 'Names of the variables that are set.'],
  ['vaults', 'catalogVaultsSchema', 'vaults.json', 'Names of vaults and of the secrets in them.'],
  ['mounts', 'catalogMountsSchema', 'mounts.json', 'Directories that are kept, and how.'],
  ['budget', 'catalogBudgetSchema', 'budget.json', 'Limits, what was used of them, and what is left.'],
  ['outcome', 'catalogOutcomeSchema', 'outcome.json', 'What runs, and what came of all that ran.'],
  ['shells', 'catalogShellsSchema', 'shells.json', 'Open shells, and what each does.'],
  ['deed', 'catalogDeedSchema', 'a line of history.jsonl', 'One thing that was done and has ended.'],
  ['event', 'catalogEventSchema', 'a line of events.jsonl', 'One event. Ordered by seq.'],
  ['catalog', 'catalogSchema', 'GET /sandboxes/{id}/catalog', 'The whole catalog as one document.'],
]

/** `[path, text]` of each. */
export const catalogSchemaFiles = (sources) =>
  published.map(([name, schema, title, description]) => {
    if (sources[schema] === undefined) throw new Error(`script/generate/catalog.mjs: there is no ${schema}`)
    const { $schema, ...rest } = sources.z.toJSONSchema(sources[schema], { io: 'output', target: 'draft-2020-12' })
    const $id = `urn:glovebox:catalog:${sources.catalogVersion}:${name}`
    return [
      `schemas/catalog/${name}.schema.json`,
      `${JSON.stringify({ $schema, $id, title, description, ...rest }, null, 2)}\n`,
    ]
  })

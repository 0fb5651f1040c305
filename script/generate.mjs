// Writes what is made from the code: docs/reference, the JSON Schemas in schemas/, and the tables in README.md and
// SECURITY.md between `<!-- generated:NAME -->` and `<!-- /generated:NAME -->`. With --check it writes nothing and names
// what is stale. Nothing here asks the host: the same sources give the same bytes everywhere.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadSources } from './generate/load.mjs'
import { errorsPage } from './generate/errors.mjs'
import { actionPages } from './generate/actions.mjs'
import { schemaFiles } from './generate/schemas.mjs'
import { catalogSchemaFiles, toolContractModule } from './generate/catalog.mjs'
import { policyPage } from './generate/policy.mjs'
import { commandLinePage } from './generate/command-line.mjs'
import { isolationPage, isolationSummary } from './generate/isolation.mjs'
import { attackTable } from './generate/attacks.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const reference = 'docs/reference'
const schemas = 'schemas'

/** A bundler's complaint is a page long; its first words say enough. */
const cause = (error) =>
  (error instanceof Error ? error.message : String(error)).split('\n').filter(Boolean).slice(0, 2).join(' ')

function read(path) {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined
}

/** The file with the text between its markers replaced. */
function withSection(path, name, body) {
  const text = read(path)
  const [open, close] = [`<!-- generated:${name} -->`, `<!-- /generated:${name} -->`]
  const from = text?.indexOf(open) ?? -1
  const to = text?.indexOf(close) ?? -1
  if (from < 0 || to < from) throw new Error(`${path} has no section ${open} … ${close}`)
  return `${text.slice(0, from + open.length)}\n\n${body.trim()}\n\n${text.slice(to)}`
}

/** `[path, make]`; each is made by itself, so that a fault in one source is told beside the pages it does not touch. */
const pages = [
  [`${reference}/errors.md`, async () => errorsPage(await loadSources(root, 'errors'))],
  [`${reference}/policy.md`, async () => policyPage(await loadSources(root, 'policy'))],
  ['src/catalog/tool-contract.ts', async () => toolContractModule(await loadSources(root, 'actions'))],
  [`${reference}/cli.md`, async () => commandLinePage(await loadSources(root, 'commandLine'))],
  [
    'README.md',
    async () => withSection('README.md', 'isolation', isolationSummary(await loadSources(root, 'isolation'))),
  ],
  [`${reference}/isolation.md`, async () => isolationPage(await loadSources(root, 'isolation'))],
  ['SECURITY.md', async () => withSection('SECURITY.md', 'attacks', attackTable(await loadSources(root, 'attacks')))],
]

async function makeAll() {
  const made = new Map()
  const faults = []
  const attempt = async (path, make) => {
    try {
      made.set(path, await make())
    } catch (error) {
      faults.push(`${path}: ${cause(error)}`)
    }
  }
  for (const [path, make] of pages) await attempt(path, make)
  const attemptMany = async (what, make) => {
    try {
      for (const [path, text] of await make()) made.set(path, text)
    } catch (error) {
      faults.push(`${what}: ${cause(error)}`)
    }
  }
  await attemptMany(`${reference}/actions.md`, async () =>
    actionPages(await loadSources(root, 'actions')).map(([name, text]) => [`${reference}/${name}`, text]),
  )
  await attemptMany(schemas, async () => schemaFiles(await loadSources(root, 'layout')))
  await attemptMany(`${schemas}/catalog`, async () => catalogSchemaFiles(await loadSources(root, 'catalog')))
  return { made, faults }
}

/** Pages of things that are no more. */
function leftOver(made) {
  return [reference, schemas]
    .filter((directory) => existsSync(join(root, directory)))
    .flatMap((directory) => readdirSync(join(root, directory), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, '/').length))
    .filter((path) => !made.has(path))
}

const check = process.argv.includes('--check')
const { made, faults } = await makeAll()
const stale = [...made].filter(([path, text]) => read(path) !== text).map(([path]) => path)
const gone = faults.length === 0 ? leftOver(made) : []
if (check) {
  for (const path of [...stale, ...gone]) process.stderr.write(`generate: ${path} is stale. Run: npm run generate\n`)
} else {
  for (const path of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), made.get(path))
    process.stderr.write(`generate: wrote ${path}\n`)
  }
  for (const path of gone) {
    rmSync(join(root, path))
    process.stderr.write(`generate: removed ${path}\n`)
  }
}
for (const fault of faults) process.stderr.write(`generate: Cannot make ${fault}\n`)
process.exitCode = faults.length > 0 || (check && stale.length + gone.length > 0) ? 1 : 0

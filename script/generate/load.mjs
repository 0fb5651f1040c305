// Loads TypeScript of the checkout on any Node: the named sources are bundled into .cache and imported from there.
// From the sources and not from dist, so that no build has to be fresh first.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const sources = {
  errors: ["export { errorTable } from '/src/errors/table.ts'"],
  actions: ["export { actions } from '/src/actions/registry.ts'", "export { z } from 'zod'"],
  policy: [
    "export { fieldRules, policyFields } from '/src/policy/fields.ts'",
    "export { formatValue } from '/src/policy/format.ts'",
    "export { builtInProtections } from '/src/policy/protect.ts'",
  ],
  commandLine: [
    "export { buildProgram } from '/src/cli/program.ts'",
    "export { laterWords } from '/src/cli/later-words.ts'",
  ],
  isolation: [
    "export { capabilityNames } from '/src/contract/capability.ts'",
    "export { capabilitiesFor as bwrap } from '/src/backends/bwrap/capabilities.ts'",
    "export { capabilitiesFor as docker } from '/src/backends/docker/capabilities.ts'",
    "export { capabilitiesFor as local } from '/src/backends/local/capabilities.ts'",
  ],
  layout: [
    "export { layoutVersion, runRecordSchema, sessionRecordSchema, taskRecordSchema } from '/src/contract/run.ts'",
    "export { artifactManifestSchema, sandboxManifestSchema } from '/src/contract/artifact.ts'",
    "export { eventSchema } from '/src/contract/event.ts'",
    "export { forkRecordSchema } from '/src/contract/fork.ts'",
    "export { changeSetSchema, recordedActionSchema, startStateSchema } from '/src/contract/recorded-action.ts'",
    "export { settingsSchema } from '/src/runtime/settings-schema.ts'",
    "export { z } from 'zod'",
  ],
  catalog: ["export * from '/src/contract/catalog.ts'", "export { z } from 'zod'"],
  attacks: ["export { catalog } from '/test/attacks/catalog.ts'"],
}

const entry = 'glovebox:entry'

// They stay until the end: some of what is in them is imported only when it is asked for.
const written = []
process.once('exit', () => {
  for (const directory of written) rmSync(directory, { recursive: true, force: true })
})

/** The bundle lies two levels below the root, as src/cli and dist/cli do: version.ts finds package.json from there. */
export async function loadSources(root, name) {
  const directory = join(root, '.cache', `generate-${process.pid}-${name}`)
  mkdirSync(directory, { recursive: true })
  written.push(directory)
  const bundle = await rolldown({
    input: { page: entry },
    cwd: root,
    platform: 'node',
    logLevel: 'silent',
    external: [/^node:/, /^(?!glovebox:)[@a-z]/i],
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : /^\/(?:src|test)\//.test(id) ? join(root, id) : null),
        load: (id) => (id === entry ? sources[name].join('\n') : null),
      },
    ],
  })
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' }
  await bundle.write({ dir: directory, format: 'esm', ...names })
  await bundle.close()
  return import(pathToFileURL(join(directory, 'page.mjs')).href)
}

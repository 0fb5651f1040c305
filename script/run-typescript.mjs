// Runs a TypeScript file of this checkout on any Node: bundles it beside the built library and imports the bundle.
// Imports of src/ become imports of dist/, so that what is measured is what is shipped, worker file and all.
import { mkdirSync, rmSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const [, , file, ...rest] = process.argv
if (file === undefined) {
  process.stderr.write('Usage: node script/run-typescript.mjs FILE [arguments]\n')
  process.exit(2)
}

const source = resolve(file)
const target = join(root, '.cache', `run-${process.pid}`)
const src = join(root, 'src')

// A file that asks where it lies means its own place in the checkout, wherever the bundle is.
const ownPlace = {
  name: 'own-place',
  transform: (code, id) =>
    code.includes('import.meta.url')
      ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : null,
}

const fromDist = {
  name: 'from-dist',
  resolveId(id, importer) {
    if (importer === undefined || !id.startsWith('.')) return null
    const path = resolve(importer, '..', id)
    if (relative(src, path).startsWith('..')) return null
    const built = join(root, 'dist', relative(src, path)).replace(/\.ts$/, '.js')
    return { id: pathToFileURL(built).href, external: true }
  },
}

mkdirSync(target, { recursive: true })
process.on('exit', () => rmSync(target, { recursive: true, force: true }))
const bundle = await rolldown({
  input: source,
  cwd: root,
  platform: 'node',
  external: [/^node:/, /^(?!@oxc-project\/)[@a-z]/i],
  plugins: [fromDist, ownPlace],
  // Node 20 does not know `await using`.
  transform: { target: 'node20' },
})
await bundle.write({ dir: target, format: 'esm', entryFileNames: '[name].mjs' })
await bundle.close()
process.argv = [process.argv[0], source, ...rest]
await import(pathToFileURL(join(target, `${basename(source).replace(/\.ts$/, '')}.mjs`)).href)

// Builds dist/: the library by tsc (one file for one file), and dist/cli, the command line as one file and some parts, which
// halves its start. With --if-stale it does nothing when no source has changed since the last build.
//
// A worker thread's file must lie beside the file that starts it (`new URL('./thread.js', import.meta.url)`), so each
// src/**/*thread.ts is bundled to that name beside the command line, and the same line finds it in both trees. Packages with
// native parts or programs stay outside the bundle and are found in node_modules.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, '.cache')
const stampFile = join(cache, 'build.stamp')
const outside = [
  /^node:/,
  'ai',
  /^@ai-sdk\//,
  'koffi',
  /^@koromix\//,
  /^@vscode\/ripgrep/,
  /^@photostructure\/sqlite/,
  'pg',
  'kysely',
  /^hono(?:$|\/)/,
  /^@hono\//,
  'pino',
  'prom-client',
]

function sources() {
  const below = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  const code = below.filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
  return code.map((entry) => join(entry.parentPath, entry.name)).sort()
}

function stampOf(files) {
  const hash = createHash('sha256')
  const fixed = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'script/build.mjs'].map((name) =>
    join(root, name),
  )
  for (const file of [...files, ...fixed]) hash.update(`${file}\0${statSync(file).mtimeMs}\0${statSync(file).size}\n`)
  return hash.digest('hex')
}

function isFresh(stamp) {
  return (
    existsSync(join(root, 'dist/cli/glovebox.cjs')) &&
    existsSync(stampFile) &&
    readFileSync(stampFile, 'utf8') === stamp
  )
}

/** Emits without checking types: `npm run check` does that, and a build should not take as long as a check. */
function compileLibrary(target) {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const done = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', target], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (done.status !== 0) throw new Error(`tsc failed with ${done.status ?? done.signal}`)
}

/** Bundles what tsc made of the sources, so that both trees are the same code for the same oldest Node. */
async function bundle(input, output) {
  const made = await rolldown({ cwd: root, platform: 'node', external: outside, logLevel: 'warn', ...input })
  await made.write({ minify: { mangle: false, compress: true, codegen: { removeWhitespace: true } }, ...output })
  await made.close()
}

/** What a plain `exec` imports on its way, one after the other. In one file with the rest of its way it is read and compiled at
 * once; what only other commands need lies in files of its own, and costs a short command nothing. */
const onTheWay = ['cli/commands/exec.ts', 'backends/bwrap/backend.ts', 'backends/bwrap/launcher/owned-launcher.ts']

/** The command line for bin/load.cjs, the parts that it loads when asked, and the thread beside it. */
async function bundleCommandLine(files, target) {
  const threads = files.filter((file) => /^(?:.*-)?thread\.ts$/.test(basename(file)))
  if (new Set(threads.map((file) => basename(file))).size < threads.length)
    throw new Error(`several worker files would share one name: ${threads.join(', ')}`)
  const compiled = (file) => join(target, relative(join(root, 'src'), file)).replace(/\.ts$/, '.js')
  const bundled = join(target, 'cli-bundled')
  const entry = [
    ...onTheWay.map((name) => `import ${JSON.stringify(compiled(join(root, 'src', name)))}`),
    `export { main } from ${JSON.stringify(compiled(join(root, 'src/cli/main.ts')))}`,
  ].join('\n')
  await bundle(
    {
      input: 'glovebox',
      // Parts use what lies in the file of the way, so it exports more than `main`.
      preserveEntrySignatures: 'allow-extension',
      checks: { ineffectiveDynamicImport: false },
      plugins: [
        textAs('glovebox', entry),
        chanceFromNode(compiled(chanceSource)),
        await filterMadeBefore(compiled(filterSource)),
      ],
    },
    {
      dir: bundled,
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: 'part-[name]-[hash].cjs',
      codeSplitting: { groups: [oneFileFor('glovebox')] },
    },
  )
  for (const thread of threads) {
    const file = join(bundled, basename(thread).replace(/\.ts$/, '.js'))
    await bundle({ input: compiled(thread) }, { file, format: 'esm', codeSplitting: false })
  }
  inlineRuntime(bundled, 'glovebox.cjs')
  for (const name of readdirSync(bundled)) if (name.endsWith('.cjs')) toAscii(join(bundled, name))
  rmSync(join(target, 'cli'), { recursive: true, force: true })
  renameSync(bundled, join(target, 'cli'))
}

/** A module that is no file. */
const textAs = (name, text) => ({
  name: 'text',
  resolveId: (id) => (id === name ? name : undefined),
  load: (id) => (id === name ? text : undefined),
})

const chanceSource = join(root, 'src/contract/chance.ts')

/** Web crypto takes longer to load than everything that is made of its chance; the command line has Node's own. */
const chanceFromNode = (path) => ({
  name: 'chance-from-node',
  load: (id) =>
    id === path
      ? "import { randomBytes } from 'node:crypto'\nexport const chance = () => randomBytes(16).toString('hex')"
      : undefined,
})

const filterSource = join(root, 'src/backends/bwrap/seccomp/filter.ts')

/** The system-call filter, compiled now by the very function that the library calls, and kept as bytes and words. */
async function filterMadeBefore(path) {
  const { compileFilter } = await import(pathToFileURL(path).href)
  const kept = ['x64', 'arm64'].flatMap((arch) => [false, true].map((pty) => keptFilter(compileFilter, { arch, pty })))
  const text = `const kept = {${kept.join(',')}}
export function compileFilter({ arch, pty }) {
  const { bytes, words } = kept[arch + pty]
  return { bytes: Buffer.from(bytes, 'base64'), words }
}`
  return { name: 'filter-made-before', load: (id) => (id === path ? text : undefined) }
}

function keptFilter(compileFilter, options) {
  const { bytes, words } = compileFilter(options)
  return `${options.arch}${options.pty}:${JSON.stringify({ bytes: Buffer.from(bytes).toString('base64'), words })}`
}

/** All that a module imports statically goes into its own file, also what parts use too. */
function oneFileFor(start) {
  const reached = new Set([start])
  const reach = (context) => {
    for (const id of reached) for (const next of context.getModuleInfo(id)?.importedIds ?? []) reached.add(next)
  }
  const name = (id, context) => {
    if (reached.size === 1) reach(context)
    return reached.has(id) ? start : null
  }
  return { name, debugName: start }
}

/** The bundler's own few functions, which it puts into a file for all. They keep nothing, so the way may have some of its own. */
function inlineRuntime(directory, name) {
  const path = join(directory, name)
  const inlined = (_, runtime) =>
    `(()=>{const exports={};${readFileSync(join(directory, runtime), 'utf8')};return exports})()`
  writeFileSync(path, readFileSync(path, 'utf8').replace(/require\("\.\/(part-rolldown-runtime-[^"]+)"\)/, inlined))
}

/** A text of single bytes is read and checked in half the time. Other characters stand only in strings, where an escape is the same. */
function toAscii(file) {
  const escape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/[^\0-\x7f]/g, escape))
}

/** Keeps what the compiler makes of the command line. Without it everything works, a little later. */
function warmCommandLine() {
  const place = mkdtempSync(join(tmpdir(), 'glovebox-warm-'))
  const env = { PATH: process.env.PATH, HOME: place, GLOVEBOX_STATE_DIR: join(place, 'state') }
  const options = { cwd: mkdtempSync(join(place, 'workspace-')), env, stdio: 'ignore', timeout: 20_000 }
  spawnSync(process.execPath, [join(root, 'script/warm.cjs')], options)
  rmSync(place, { recursive: true, force: true })
}

/** The new tree replaces the old one by renaming, so that nobody runs half a build. */
function replaceDist(fresh) {
  const dist = join(root, 'dist')
  const old = join(cache, `dist-old-${process.pid}`)
  if (existsSync(dist)) renameSync(dist, old)
  renameSync(fresh, dist)
  rmSync(old, { recursive: true, force: true })
}

async function build() {
  const files = sources()
  const stamp = stampOf(files)
  if (process.argv.includes('--if-stale') && isFresh(stamp)) return
  const start = performance.now()
  mkdirSync(cache, { recursive: true })
  const fresh = join(cache, `dist-new-${process.pid}`)
  rmSync(fresh, { recursive: true, force: true })
  try {
    compileLibrary(fresh)
    await bundleCommandLine(files, fresh)
    replaceDist(fresh)
    warmCommandLine()
    writeFileSync(stampFile, stamp)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  process.stderr.write(`Built dist in ${((performance.now() - start) / 1000).toFixed(1)} s.\n`)
}

try {
  await build()
} catch (error) {
  process.stderr.write(`build: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

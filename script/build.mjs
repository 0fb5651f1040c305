// Builds dist/: the library by tsc (one file for one file), and dist/cli, the command line as one file, which halves its
// start. With --if-stale it does nothing when no source has changed since the last build.
//
// A worker thread's file must lie beside the file that starts it (`new URL('./thread.js', import.meta.url)`), so the one
// src/**/thread.ts is bundled to that name beside the command line, and the same line finds it in both trees. Packages with
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
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, '.cache')
const stampFile = join(cache, 'build.stamp')
const outside = [/^node:/, 'koffi', /^@koromix\//, /^@vscode\/ripgrep/]

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
const minify = { mangle: false, compress: true, codegen: { removeWhitespace: true } }

/** One file each: the command line for bin/load.cjs, and the thread beside it. */
async function bundleCommandLine(files, target) {
  const threads = files.filter((file) => basename(file) === 'thread.ts')
  if (threads.length > 1) throw new Error(`several worker files would share one name: ${threads.join(', ')}`)
  const compiled = (file) => join(target, relative(join(root, 'src'), file)).replace(/\.ts$/, '.js')
  const bundled = join(target, 'cli-bundled')
  const outputs = [
    { input: compiled(join(root, 'src/cli/main.ts')), file: 'glovebox.cjs', format: 'cjs' },
    ...threads.map((file) => ({ input: compiled(file), file: 'thread.js', format: 'esm' })),
  ]
  for (const { input, file, format } of outputs) {
    const bundle = await rolldown({ input, cwd: root, platform: 'node', external: outside, logLevel: 'warn' })
    await bundle.write({ file: join(bundled, file), format, codeSplitting: false, minify })
    await bundle.close()
  }
  toAscii(join(bundled, 'glovebox.cjs'))
  rmSync(join(target, 'cli'), { recursive: true, force: true })
  renameSync(bundled, join(target, 'cli'))
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

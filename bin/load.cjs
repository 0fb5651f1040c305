// Loads the command line, which is one file and some parts that it loads when asked, together with what the compiler made of it
// the last time. Compiling takes longer than a short command; the build keeps the result, and another version of node simply
// compiles anew.
'use strict'
const { closeSync, openSync, readFileSync, readSync } = require('node:fs')
const { Module, createRequire } = require('node:module')
const { dirname, join } = require('node:path')
const { Script, constants } = require('node:vm')

const file = join(__dirname, '..', 'dist', 'cli', 'glovebox.cjs')
const cacheFile = `${file}.${process.version}-${process.arch}.cache`

function readQuietly(path, encoding) {
  try {
    return readFileSync(path, encoding)
  } catch {
    return undefined
  }
}

/** Undefined: it has not been built. */
function load() {
  const source = readQuietly(file, 'latin1')
  if (source === undefined) return undefined
  const cachedData = readQuietly(cacheFile)
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: file,
    importModuleDynamically: constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  const module = new Module(file)
  // The parts ask for this file by its name, and must not get a second one.
  require.cache[file] = module
  const requireNow = createRequire(file)
  const requireWhenUsed = (name) => (seldomUsed.has(name) ? whenUsed(name, seldomUsed.get(name)) : requireNow(name))
  script.runInThisContext()(module.exports, requireWhenUsed, module, file, dirname(file))
  module.loaded = true
  return { main: module.exports.main, script, cacheFile }
}

/** Modules of node of which a short command uses nothing, or just what stands beside them. Loading them takes 3 ms together. */
const seldomUsed = new Map([
  ['node:crypto', { randomBytes, randomUUID }],
  ['node:fs/promises', {}],
  ['node:timers/promises', {}],
  ['node:worker_threads', {}],
])

/** Loaded at the first look at anything of it that is not `known`. */
const whenUsed = (name, known) => new Proxy(known, { get: (_, key) => known[key] ?? require(name)[key] })

/** From the kernel, where node:crypto has it from too. Read in advance, since a name takes only a few bytes. */
function randomBytes(length) {
  if (pool.length < length) pool = readRandom(Math.max(length, 1024))
  const taken = pool.subarray(0, length)
  pool = pool.subarray(length)
  return taken
}

let pool = Buffer.alloc(0)

function readRandom(length) {
  const descriptor = openSync('/dev/urandom', 'r')
  try {
    const bytes = Buffer.alloc(length)
    if (readSync(descriptor, bytes) !== length) throw new Error('the kernel gave too few random bytes')
    return bytes
  } finally {
    closeSync(descriptor)
  }
}

function randomUUID() {
  const hex = randomBytes(16).toString('hex')
  const variant = ((Number.parseInt(hex[16], 16) & 3) | 8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20),
  ].join('-')
}

module.exports = { load }

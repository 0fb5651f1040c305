// Loads the command line, which is one file and some parts that it loads when asked, together with what the compiler made of it
// the last time. Compiling takes longer than a short command; the build keeps the result, and another version of node simply
// compiles anew.
'use strict'
const { closeSync, fstatSync, openSync, readSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { Script, constants } = require('node:vm')

const file = join(__dirname, '..', 'dist', 'cli', 'glovebox.cjs')
const cacheFile = `${file}.${process.version}-${process.arch}.cache`

/** What stands before and behind it is put there as bytes: of texts that are joined the compiler makes one more. */
function readQuietly(path, before = '', behind = '') {
  let descriptor
  try {
    descriptor = openSync(path, 'r')
    const { size } = fstatSync(descriptor)
    const bytes = Buffer.allocUnsafeSlow(before.length + size + behind.length)
    bytes.latin1Write(before)
    bytes.latin1Write(behind, before.length + size)
    return readSync(descriptor, bytes, before.length, size) === size ? bytes : undefined
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Undefined: it has not been built. */
function load() {
  const source = readQuietly(file, '(function (exports, require, module, __filename, __dirname) {', '\n})')
  if (source === undefined) return undefined
  const cachedData = readQuietly(cacheFile)
  const script = new Script(source.latin1Slice(), {
    filename: file,
    importModuleDynamically: constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  const exports = {}
  let requirePart
  const requireNow = (name) => (name.startsWith('node:') ? require(name) : (requirePart ??= partsOf(exports))(name))
  const requireWhenUsed = (name) => (seldomUsed.has(name) ? whenUsed(name, seldomUsed.get(name)) : requireNow(name))
  script.runInThisContext()(exports, requireWhenUsed, { exports }, file, dirname(file))
  return { main: exports.main, script, cacheFile }
}

/** The parts ask for this file by its name, and must not get a second one. */
function partsOf(exports) {
  const { Module, createRequire } = require('node:module')
  require.cache[file] = Object.assign(new Module(file), { exports, loaded: true })
  return createRequire(file)
}

/** Modules of node of which a short command uses nothing, or just what stands beside them. Loading them takes 3 ms together. */
const seldomUsed = new Map([
  ['node:child_process', {}],
  ['node:crypto', { randomBytes, randomUUID }],
  ['node:fs/promises', {}],
  ['node:timers/promises', {}],
  ['node:tty', {}],
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

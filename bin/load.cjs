// Loads the command line, which is one file, together with what the compiler made of it the last time. Compiling takes
// longer than a short command; the build keeps the result, and another version of node simply compiles anew.
'use strict'
const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
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
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file))
  return { main: module.exports.main, script, cacheFile }
}

module.exports = { load }

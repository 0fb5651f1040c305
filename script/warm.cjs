// Runs one command with the built command line and keeps what the compiler made of it, beside the bundle. How the command
// ends does not matter: what it touched on the way is compiled. Called by build.mjs, in a directory that is thrown away.
'use strict'
const { writeFileSync } = require('node:fs')
const { load } = require('../bin/load.cjs')

const { main, script, cacheFile } = load()
void main(['exec', '--', 'true']).then(() => {
  writeFileSync(cacheFile, script.createCachedData())
  process.exit(0)
})

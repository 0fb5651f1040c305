// Every suite on every version of Node that is claimed. Usage: script/campaign node-matrix [arguments of script/matrix]
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const matrix = fileURLToPath(new URL('../../../script/matrix.mjs', import.meta.url))
const done = spawnSync(process.execPath, [matrix, ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = done.status ?? 1

// Lints what may have come to be wrong since the last lint that found nothing (lint-reach.mjs). Where the rules, the packages or the
// compiler's options have changed, in a fresh clone, and where git cannot tell which files there are, that is everything.
//   node script/lint.mjs [--all]
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { hashesOf, toLint } from './lint-reach.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const memory = join(root, '.cache/lint.json')
const rules = ['.oxlintrc.json', 'package-lock.json', 'tsconfig.json', 'script/lint.mjs', 'script/lint-reach.mjs']
const read = (path) => readFileSync(join(root, path), 'utf8')

/** Those that git knows or would take. */
function readSources() {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  if (listed.status !== 0) return undefined
  const names = listed.stdout.toString().split('\0')
  const sources = names.filter((path) => /\.[cm]?[jt]sx?$/.test(path) && existsSync(join(root, path)))
  return new Map(sources.map((path) => [path, read(path)]))
}

function remembered() {
  try {
    return JSON.parse(readFileSync(memory, 'utf8'))
  } catch {
    return {}
  }
}

function remember(all) {
  mkdirSync(dirname(memory), { recursive: true })
  writeFileSync(`${memory}.${process.pid}`, JSON.stringify(all))
  renameSync(`${memory}.${process.pid}`, memory)
}

const { values } = parseArgs({ options: { all: { type: 'boolean' } } })
const texts = readSources()
const rulesNow = createHash('sha256').update(rules.map(read).join('\0')).digest('hex')
const before = remembered()
const isWhole = values.all === true || texts === undefined || before.rules !== rulesNow
const files = isWhole ? [] : toLint(before.files, texts)

if (!isWhole && files.length === 0) {
  process.stdout.write('Nothing has changed since everything was linted.\n')
} else {
  const words = [join(root, 'node_modules/oxlint/bin/oxlint'), '--type-aware', '--deny-warnings', ...files]
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  if (texts !== undefined) remember({ rules: rulesNow, files: hashesOf(texts) })
}

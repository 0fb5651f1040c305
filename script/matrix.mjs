// Runs the suites on several versions of Node. Each is the real program of its npm package, kept in .cache/nodes; vitest,
// its workers and every process that the tests start run on it. dist is built once: the product is one build for all.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const nodes = join(root, '.cache/nodes')
const allSuites = ['unit', 'architecture', 'conformance', 'attacks', 'faults', 'e2e']
const allVersions = ['20', '22', '24', '26']
/** Of suites that are not named here, --short takes everything. */
const shortForms = {
  conformance: ['conformance/bwrap.test', 'conformance/local'],
  attacks: ['attacks/descriptors', 'attacks/processes', 'attacks/cells'],
  faults: ['faults/kill.test', 'faults/output.test'],
  e2e: ['e2e/cli.test', 'e2e/run-library', 'e2e/client-api'],
}

const usage = `Usage: script/matrix [--suites ${allSuites.join(',')}] [--short] [--others] [versions…]

Runs the suites (without --suites, all of them) on each version of Node (without any, ${allVersions.join(' ')}).
--short takes from each suite the files that go through most of what Node gives us, and no others.
A version is a number like 22 or 22.12. --others leaves out the major version that runs this script.
To get newer releases of the same versions, remove .cache/nodes.
`

const say = (text) => process.stderr.write(`matrix: ${text}\n`)
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`

function wrongUse(text) {
  process.stderr.write(`matrix: ${text}\n${usage}`)
  process.exit(2)
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        suites: { type: 'string' },
        short: { type: 'boolean' },
        others: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    return wrongUse(error.message)
  }
}

function readArguments() {
  const { values, positionals } = parse()
  if (values.help) {
    process.stdout.write(usage)
    process.exit(0)
  }
  const suites = values.suites?.split(',') ?? allSuites
  for (const suite of suites) if (!allSuites.includes(suite)) wrongUse(`There is no suite "${suite}".`)
  const asked = positionals.length > 0 ? positionals : allVersions
  for (const version of asked)
    if (!/^\d+(\.\d+){0,2}$/.test(version)) wrongUse(`"${version}" is not a version of Node.`)
  const own = process.versions.node.split('.')[0]
  const versions = values.others ? asked.filter((version) => version.split('.')[0] !== own) : asked
  if (versions.length === 0) wrongUse(`No version is left: this is Node ${own}.`)
  return { suites, versions, isShort: values.short === true }
}

/** The full version of a Node program if it runs and is of the version asked for. */
function versionOf(program, asked) {
  const told = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout?.trim().slice(1)
  return told !== undefined && `${told}.`.startsWith(`${asked}.`) ? told : undefined
}

/** Installs beside and renames, so that an interrupted download is never taken for a Node. */
function installNode(version) {
  const name = `node-${process.platform}-${process.arch}`
  const place = join(nodes, version)
  const program = join(place, 'node_modules', name, 'bin/node')
  const found = versionOf(program, version)
  if (found !== undefined) return { program, full: found }
  const start = performance.now()
  say(`Downloading Node ${version} (npm install ${name}@${version}) into .cache/nodes.`)
  rmSync(place, { recursive: true, force: true })
  mkdirSync(nodes, { recursive: true })
  const fresh = mkdtempSync(join(nodes, 'new-'))
  try {
    const flags = [
      '--no-save',
      '--no-package-lock',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--loglevel=error',
      '--no-update-notifier',
    ]
    // Not --prefix: with it npm does not find its global configuration, and so not the machine's registry or certificates.
    writeFileSync(join(fresh, 'package.json'), '{ "private": true }\n')
    const npm = spawnSync('npm', ['install', ...flags, `${name}@${version}`], { cwd: fresh, encoding: 'utf8' })
    if (npm.status !== 0) throw new Error(npm.stderr?.trim() || npm.error?.message || `npm ended with ${npm.status}`)
    renameSync(fresh, place)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  const full = versionOf(program, version)
  if (full === undefined) throw new Error(`${name}@${version} does not run here, or is another version`)
  say(`Node ${full} is there after ${seconds(performance.now() - start)}.`)
  return { program, full }
}

/** Suites that root starts also start an ordinary user's processes, and this checkout may be closed to that user. */
function withinReach(program, scratch) {
  if (process.getuid?.() !== 0) return program
  const directory = mkdtempSync(join(scratch, 'node-'))
  chmodSync(directory, 0o755)
  const copy = join(directory, 'node')
  copyFileSync(program, copy)
  chmodSync(copy, 0o755)
  return copy
}

function countsIn(report) {
  if (!existsSync(report)) return 'no result'
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'))
  const told = [`${numPassedTests} passed`]
  if (numFailedTests > 0) told.push(`${numFailedTests} failed`)
  if (numPendingTests > 0) told.push(`${numPendingTests} skipped`)
  return told.join(', ')
}

/** What Node itself complains of, once each: the next version may make an error of it. */
const complaintsIn = (output) =>
  new Set([...output.matchAll(/^\(node:\d+\) (.*Warning: .*)$/gm)].map(([, complaint]) => complaint))

function runSuite({ program, suite, isShort, scratch, signal }) {
  const start = performance.now()
  const report = join(mkdtempSync(join(scratch, 'report-')), 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  if (process.env['GLOVEBOX_LANE_REPORT'] !== undefined)
    reporters.push(`--reporter=${join(root, 'script/lane-reporter.mjs')}`)
  const files = (isShort ? shortForms[suite] : undefined) ?? []
  const PATH = [dirname(program), process.env.PATH].join(delimiter)
  return new Promise((resolve) => {
    const argv = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', suite, ...files, ...reporters]
    const env = { ...process.env, PATH }
    const child = spawn(program, argv, { cwd: root, env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
    const end = (passed) => {
      const text = Buffer.concat(output).toString()
      resolve({ suite, passed, text, counts: countsIn(report), ms: performance.now() - start })
    }
    child.on('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`))
      end(false)
    })
    child.on('close', (code) => end(code === 0))
  })
}

async function runVersion({ version, suites, isShort, scratch, signal }) {
  let node
  try {
    node = installNode(version)
  } catch (error) {
    say(`Cannot install Node ${version}: ${error.message}`)
    return [{ full: version, suite: 'install', passed: false, counts: 'not run', ms: 0 }]
  }
  const program = withinReach(node.program, scratch)
  const results = []
  for (const suite of suites) {
    const result = await runSuite({ program, suite, isShort, scratch, signal })
    if (!result.passed) process.stderr.write(result.text)
    say(
      `Node ${node.full} ${suite}: ${result.passed ? 'passed' : 'FAILED'} (${result.counts}) in ${seconds(result.ms)}`,
    )
    for (const complaint of complaintsIn(result.text)) say(`Node ${node.full} ${suite}: ${complaint}`)
    results.push({ ...result, full: node.full })
  }
  return results
}

function summarise(results) {
  process.stdout.write('\n')
  for (const { full, suite, passed, counts, ms } of results) {
    const row = [`Node ${full}`.padEnd(14), suite.padEnd(13), passed ? 'passed' : 'FAILED', seconds(ms).padStart(9)]
    process.stdout.write(`${row.join(' ')}  ${counts}\n`)
  }
  const failed = results.filter(({ passed }) => !passed)
  process.stdout.write(
    failed.length === 0
      ? `\nEvery suite passed on every version.\n`
      : `\nFAILED: ${failed.map(({ full, suite }) => `${suite} on Node ${full}`).join(', ')}\n`,
  )
  return failed.length === 0
}

const { suites, versions, isShort } = readArguments()
const scratch = mkdtempSync(join(tmpdir(), 'glovebox-matrix-'))
chmodSync(scratch, 0o755)
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'])
  process.once(name, () => {
    stop.abort()
    process.exit(130)
  })

say(`Running ${suites.join(', ')}${isShort ? ' in short' : ''} on Node ${versions.join(', ')}.`)
const results = []
for (const version of versions)
  results.push(...(await runVersion({ version, suites, isShort, scratch, signal: stop.signal })))
process.exitCode = summarise(results) ? 0 : 1

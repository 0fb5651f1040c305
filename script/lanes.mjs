// Runs the suites side by side: each is a lane with its own output, and two of one kind never run at once, since they look for the same
// traces. Tells each lane's end with its time; of a lane that failed, first what failed in it and then all that it said; and at the
// very end once more what failed, and a line that counts.
//   node script/lanes.mjs [--whole] [--list] [suites…]   --whole: also the quick check, and another version of Node
//   GLOVEBOX_LANES=1                                     one after another; default: one more than there are cores, since they often wait
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, existsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lanesFor } from './lane-list.mjs'
import { failedIn, readReport, totalOf } from './lane-report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const argv = process.argv.slice(2)
const isWhole = argv.includes('--whole')
const isList = argv.includes('--list')
const suites = new Set(argv.filter((word) => !word.startsWith('--')))
const required = new Set((process.env['GLOVEBOX_REQUIRE'] ?? '').split(',').map((name) => name.trim()))
const atOnce = Number(process.env['GLOVEBOX_LANES'] ?? availableParallelism() + 1)
if (!Number.isInteger(atOnce) || atOnce < 1) throw new Error('GLOVEBOX_LANES is no number of lanes')

const own = process.versions.node.split('.')[0]
const lanes = lanesFor({ root, required, suites, isWhole, own })
if (isList) {
  process.stdout.write(`${JSON.stringify(lanes, null, 2)}\n`)
  process.exit(0)
}

const place = mkdtempSync(join(tmpdir(), 'glovebox-lanes-'))
chmodSync(place, 0o755)
const modules = mkdtempSync(join(place, 'modules-'))
chmodSync(modules, 0o755)
const running = new Map()
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => {
    for (const child of running.values()) endGroup(child)
    process.exit(130)
  })

function endGroup({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function runLane({ name, kind, args, env = {} }, number) {
  const start = performance.now()
  const [log, report] = ['log', 'report'].map((what) => join(place, `${number}.${what}`))
  const output = openSync(log, 'a')
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      // In a group of its own, so that the end of all is also the end of what it has started.
      detached: true,
      env: {
        ...process.env,
        FORCE_COLOR: '0',
        NO_COLOR: '1',
        ...env,
        GLOVEBOX_LANE_REPORT: report,
        GLOVEBOX_TEST_MODULES: modules,
      },
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    running.set(kind, child)
    const end = (code, fault) => {
      running.delete(kind)
      const told = existsSync(log) ? readFileSync(log, 'utf8') : ''
      const seconds = (performance.now() - start) / 1000
      const reported = readReport(report)
      // A lane that says nothing has tested nothing.
      const passed = code === 0 && reported.length > 0 && failedIn(reported).length === 0
      resolve({ name, kind, passed, code, log: `${told}${fault ?? ''}`, report: reported, seconds })
    }
    child.once('error', (error) => end(1, `${error.message}\n`))
    child.once('close', (code, signal) => end(code ?? 1, signal === null ? undefined : `It was ended by ${signal}.\n`))
  })
}

function tell(result) {
  const { passed, failed, skipped } = totalOf(result.report)
  const counts = `${passed} passed${failed > 0 ? `, ${failed} failed` : ''}${skipped > 0 ? `, ${skipped} skipped` : ''}`
  const line = `${result.passed ? 'ok  ' : 'FAIL'}  ${result.name.padEnd(24)} ${result.seconds.toFixed(1).padStart(6)} s  ${counts}\n`
  process.stdout.write(line)
  if (result.passed) return
  process.stdout.write(
    `${failures(result)}\n--- all that ${result.name} said:\n${result.log}\n--- end of ${result.name}\n`,
  )
}

/** By name and message; the end of the output where what failed was no test. */
function failures({ name, code, log, report }) {
  const found = failedIn(report)
  if (found.length > 0)
    return found.map(({ title, message }) => `FAIL  ${name}: ${title}\n${indent(message)}`).join('\n')
  const last = log.trimEnd().split('\n').slice(-20).join('\n')
  return `FAIL  ${name}: no test of it failed, and it ended with ${code}. Its last words:\n${indent(last)}`
}

const indent = (text) =>
  text
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n')

async function runAll() {
  const waiting = lanes.map((lane, number) => ({ lane, number }))
  const busy = new Map()
  const results = []
  while (waiting.length > 0 || busy.size > 0) {
    const index = busy.size < atOnce ? waiting.findIndex(({ lane }) => !busy.has(lane.kind)) : -1
    if (index >= 0) {
      const [{ lane, number }] = waiting.splice(index, 1)
      busy.set(lane.kind, runLane(lane, number))
    } else {
      const result = await Promise.race(busy.values())
      busy.delete(result.kind)
      results.push(result)
      tell(result)
    }
  }
  return results
}

const start = performance.now()
process.stdout.write(`${lanes.length} lanes, ${atOnce} at once: ${lanes.map(({ name }) => name).join(', ')}\n`)
const results = await runAll()
const failed = results.filter((result) => !result.passed)
const total = totalOf(results.flatMap(({ report }) => report))
process.stdout.write(`\n${results.length} lanes in ${((performance.now() - start) / 1000).toFixed(0)} s\n`)
for (const { name, seconds, passed } of results.toSorted((a, b) => b.seconds - a.seconds))
  process.stdout.write(`${passed ? 'ok  ' : 'FAIL'}  ${name.padEnd(24)} ${seconds.toFixed(1).padStart(6)} s\n`)
for (const { name, report } of results)
  for (const { title, note } of report.flatMap(({ skipped }) => skipped))
    process.stdout.write(`skipped  ${name}: ${title}${note === undefined ? '' : `: ${note}`}\n`)
for (const result of failed) process.stdout.write(`\n${failures(result)}\n`)
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`)
process.exitCode = failed.length === 0 ? 0 : 1
